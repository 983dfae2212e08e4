#include "base/mailbox.h"

#include <memory>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Mailbox, ARefusedMessageIsUntouched) {
  Mailbox<std::unique_ptr<int>> mailbox;
  EXPECT_TRUE(mailbox.TryPush(std::make_unique<int>(1)));
  mailbox.Close();
  auto refused = std::make_unique<int>(3);
  EXPECT_FALSE(mailbox.TryPush(std::move(refused)));
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(*refused, 3);  // NOLINT(bugprone-use-after-move): refused, so not moved
}

TEST(Mailbox, KeepsTheOrder) {
  Mailbox<int> mailbox;
  EXPECT_TRUE(mailbox.TryPush(1));
  mailbox.PushUrgent(2);
  EXPECT_TRUE(mailbox.TryPush(3));
  EXPECT_EQ(mailbox.Drain(), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(mailbox.Drain().empty());
}

TEST(Mailbox, ClosedRefusesOrdinaryMessagesAndKeepsWhatItTook) {
  Mailbox<int> mailbox;
  ASSERT_TRUE(mailbox.TryPush(1));
  EXPECT_FALSE(mailbox.closed());
  mailbox.Close();
  EXPECT_TRUE(mailbox.closed());
  EXPECT_FALSE(mailbox.TryPush(2));
  mailbox.PushUrgent(3);
  EXPECT_EQ(mailbox.Drain(), (std::vector<int>{1, 3}));
}

TEST(Mailbox, DeliversEveryMessageOfManyThreadsOnce) {
  constexpr int kThreads = 4;
  constexpr int kMessagesPerThread = 500;
  Mailbox<int> mailbox;
  std::vector<std::thread> senders;
  for (int thread = 0; thread < kThreads; ++thread) {
    senders.emplace_back([&, thread] {
      for (int i = 0; i < kMessagesPerThread; ++i) {
        EXPECT_TRUE(mailbox.TryPush(thread * kMessagesPerThread + i));
      }
    });
  }
  std::multiset<int> received;
  while (received.size() < kThreads * kMessagesPerThread) {
    for (const int message : mailbox.WaitAndDrain()) received.insert(message);
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_TRUE(mailbox.Drain().empty());
  EXPECT_EQ(std::set<int>(received.begin(), received.end()).size(), received.size());
}

}  // namespace
}  // namespace weft
