// Who computes next. Threads meet by what they see of each other, never by time.
#include "base/turns.h"

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::ElementsAre;
using Urgency = Turns::Urgency;

class TurnsTest : public ::testing::Test {
 protected:
  ~TurnsTest() override { Join(); }

  // Takes a turn on a thread of its own, notes the name and gives it; when this returns, it waits.
  void TakeElsewhere(Urgency urgency, const std::string& name) {
    const size_t before = turns_.waiting_count();
    threads_.emplace_back([this, urgency, name] {
      const ScopedTurn turn(turns_, urgency);
      names_.push_back(name);  // one at a time has the turn
    });
    while (turns_.waiting_count() == before) std::this_thread::yield();
  }

  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Of an hour, so that nothing but this test moves the clock.
  std::atomic<int64_t> hours_{1};
  Turns turns_{0.5, [this] {
                 return std::chrono::steady_clock::time_point(std::chrono::hours(hours_.load()));
               }};
  std::vector<std::string> names_;
  std::vector<std::thread> threads_;
};

TEST_F(TurnsTest, UrgentOnesComeFirstAndEqualsInOrder) {
  turns_.Take(Urgency::kPatient);
  TakeElsewhere(Urgency::kPatient, "first patient");
  TakeElsewhere(Urgency::kPatient, "second patient");
  TakeElsewhere(Urgency::kUrgent, "urgent");
  turns_.Give();
  Join();
  EXPECT_THAT(names_, ElementsAre("urgent", "first patient", "second patient"));
}

TEST_F(TurnsTest, BehindAnUrgentTurnAPatientOneHasItsPart) {
  turns_.Take(Urgency::kUrgent);
  TakeElsewhere(Urgency::kUrgent, "first urgent");
  TakeElsewhere(Urgency::kUrgent, "second urgent");
  TakeElsewhere(Urgency::kPatient, "first patient");
  TakeElsewhere(Urgency::kPatient, "second patient");
  turns_.Give();
  Join();
  EXPECT_THAT(names_,
              ElementsAre("first patient", "first urgent", "second patient", "second urgent"));
}

TEST_F(TurnsTest, APatientTurnYieldsToAnUrgentOneAndGoesOnBeforeOthers) {
  turns_.Take(Urgency::kPatient);
  TakeElsewhere(Urgency::kPatient, "other patient");
  EXPECT_FALSE(turns_.wanted());
  TakeElsewhere(Urgency::kUrgent, "urgent");
  while (!turns_.wanted()) std::this_thread::yield();
  turns_.Yield();
  EXPECT_FALSE(turns_.wanted());
  EXPECT_THAT(names_, ElementsAre("urgent"));
  turns_.Give();
  Join();
  EXPECT_THAT(names_, ElementsAre("urgent", "other patient"));
}

TEST_F(TurnsTest, APatientTurnIsLeftAloneForItsPart) {
  turns_.Take(Urgency::kUrgent);
  hours_ = 5;
  turns_.Give();  // of the next 2 hours, a patient turn may have all
  hours_ = 6;
  turns_.Take(Urgency::kPatient);
  TakeElsewhere(Urgency::kUrgent, "urgent");
  EXPECT_FALSE(turns_.wanted());
  turns_.Give();
  Join();
  turns_.Take(Urgency::kPatient);
  hours_ = 8;
  TakeElsewhere(Urgency::kUrgent, "later");
  while (!turns_.wanted()) std::this_thread::yield();
  turns_.Yield();
  EXPECT_THAT(names_, ElementsAre("urgent", "later"));
  turns_.Give();
}

TEST_F(TurnsTest, WhatAPatientTurnOverdrawsIsLeftOutOfItsNextPart) {
  turns_.Take(Urgency::kUrgent);
  hours_ = 9;
  turns_.Give();  // until 13
  turns_.Take(Urgency::kPatient);
  TakeElsewhere(Urgency::kUrgent, "urgent");
  hours_ = 16;
  turns_.Give();  // 3 hours late
  Join();
  turns_.Take(Urgency::kUrgent);
  hours_ = 24;
  turns_.Give();  // of 4 hours, one is left
  turns_.Take(Urgency::kPatient);
  TakeElsewhere(Urgency::kUrgent, "next");
  EXPECT_FALSE(turns_.wanted());
  turns_.Give();
  Join();
  turns_.Take(Urgency::kPatient);
  hours_ = 25;
  TakeElsewhere(Urgency::kUrgent, "later");
  while (!turns_.wanted()) std::this_thread::yield();
  turns_.Yield();
  EXPECT_THAT(names_, ElementsAre("urgent", "next", "later"));
  turns_.Give();
}

}  // namespace
}  // namespace weft
