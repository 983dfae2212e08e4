#include "server/models/model_registry.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/fake_disk.h"
#include "tests/server/test_server.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Loaded = ApiResult<ModelLease>;

// What a load came to.
class Answer {
 public:
  ModelRegistry::OnLoaded Taker() {
    return [state = state_](Loaded result) {
      const std::lock_guard lock(state->mutex);
      EXPECT_FALSE(state->result) << "answered twice";
      state->result = std::move(result);
      state->changed.notify_all();
    };
  }
  bool is_there() const {
    const std::lock_guard lock(state_->mutex);
    return state_->result.has_value();
  }
  Loaded Await() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->result.has_value(); });
    return *std::exchange(state_->result, std::nullopt);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Loaded> result;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

Loaded LoadNow(ModelRegistry& registry, const std::string& id) {
  Answer answer;
  const auto ticket = registry.Load(id, answer.Taker());
  if (!ticket) return tl::unexpected(ticket.error());
  return answer.Await();
}

ModelStatus StatusOf(ModelRegistry& registry, const std::string& id) {
  for (ModelStatus& status : registry.List()) {
    if (status.id == id) return std::move(status);
  }
  ADD_FAILURE() << "there is no " << id;
  return {};
}

bool IsUnloaded(ModelRegistry& registry, const std::string& id) {
  return StatusOf(registry, id).state == ModelState::kUnloaded;
}

TEST(ModelRegistryTest, FixedModelsAreFoundByTheirNames) {
  TestModelOptions options;
  options.id = "first";
  options.aliases = {"other"};
  const TestModel first(options);
  options = TestModelOptions();
  options.id = "second";
  const TestModel second(options);
  ModelRegistry registry({first.Served(), second.Served()});
  EXPECT_EQ(registry.Find("second").lease->id, "second");
  EXPECT_EQ(registry.Find("other").lease->id, "first");
  EXPECT_EQ(registry.Find(std::nullopt).lease->id, "first");
  EXPECT_EQ(registry.Find("third").lease, nullptr);
  EXPECT_EQ(registry.Find("third").needs_id, "");
  EXPECT_EQ(registry.Unload("other").error().code, "model_is_fixed");
}

TEST(ModelRegistryTest, AModelIsLoadedOnceItIsAskedFor) {
  FakeDisk disk;
  disk.Add("a", 100);
  ModelRegistry registry(disk.Options(1000));
  EXPECT_EQ(registry.Find("a").needs_id, "a");
  EXPECT_EQ(registry.Find(std::nullopt).lease, nullptr);
  EXPECT_TRUE(IsUnloaded(registry, "a"));
  const Loaded loaded = LoadNow(registry, "a");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->id, "a");
  EXPECT_EQ(registry.Find("a").lease->id, "a");
  EXPECT_EQ(registry.Find(std::nullopt).lease->id, "a");
  const ModelStatus status = StatusOf(registry, "a");
  EXPECT_EQ(status.state, ModelState::kLoaded);
  // Half of what the weights leave.
  EXPECT_EQ(status.memory.bytes(), 550U);
  EXPECT_THAT(disk.TakeEvents(), ElementsAre("open a", "load a in 550"));
}

TEST(ModelRegistryTest, WhoAsksAtTheSameTimeGetsTheSameModel) {
  FakeDisk disk;
  disk.Add("a", 100);
  disk.HoldLoads();
  ModelRegistry registry(disk.Options(1000));
  std::vector<Answer> answers(8);
  std::vector<std::thread> threads;
  for (Answer& answer : answers) {
    threads.emplace_back([&] { EXPECT_TRUE(registry.Load("a", answer.Taker())); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kLoading);
  disk.ReleaseLoads();
  std::set<const ServedModel*> models;
  for (Answer& answer : answers) models.insert(answer.Await()->get());
  EXPECT_EQ(models.size(), 1U);
  EXPECT_THAT(disk.TakeEvents(), ElementsAre("open a", "load a in 550"));
}

TEST(ModelRegistryTest, TheOneUsedLongestAgoMakesRoom) {
  FakeDisk disk;
  for (const char* id : {"a", "b", "c", "d"}) disk.Add(id, 100);
  ModelRegistry registry(disk.Options(700));
  EXPECT_TRUE(LoadNow(registry, "a"));  // takes 400
  EXPECT_TRUE(LoadNow(registry, "b"));  // takes 200
  EXPECT_EQ(registry.Find("a").lease->id, "a");
  EXPECT_TRUE(LoadNow(registry, "c"));
  EXPECT_THAT(disk.TakeEvents(), ElementsAre("open a", "load a in 400", "open b", "load b in 200",
                                             "open c", "leave b", "load c in 200"));
  EXPECT_TRUE(LoadNow(registry, "d"));  // longest ago, and large enough alone
  EXPECT_THAT(disk.TakeEvents(), ElementsAre("open d", "leave a", "load d in 300"));
  EXPECT_TRUE(IsUnloaded(registry, "a"));
}

TEST(ModelRegistryTest, AModelInUseStays) {
  FakeDisk disk;
  disk.Add("a", 100);
  disk.Add("b", 100);
  ModelRegistry registry(disk.Options(300));
  Loaded used = LoadNow(registry, "a");
  Answer waits;
  ASSERT_TRUE(registry.Load("b", waits.Taker()));
  // It makes room, and so gets no new requests; whoever looks at it does not keep it.
  EXPECT_TRUE(Eventually([&] { return registry.Find("a").needs_id == "a"; }));
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kLeaving);
  Answer back;
  ASSERT_TRUE(registry.Load("a", back.Taker()));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(waits.is_there());
  EXPECT_EQ((*used)->engine->queue_room(), 1024);
  used = tl::unexpected(ApiError());
  EXPECT_EQ((*waits.Await())->id, "b");
  // Who came later is next.
  EXPECT_EQ((*back.Await())->id, "a");
  EXPECT_THAT(disk.TakeEvents(),
              ElementsAre("open a", "load a in 200", "open b", "leave a", "load b in 200", "open a",
                          "leave b", "load a in 200"));
}

TEST(ModelRegistryTest, WhoWaitsNoLongerLeavesTheOthersAlone) {
  FakeDisk disk;
  disk.Add("a", 100);
  disk.Add("b", 100);
  ModelRegistry registry(disk.Options(300));
  const Loaded used = LoadNow(registry, "a");
  Answer waits;
  const auto ticket = registry.Load("b", waits.Taker());
  EXPECT_TRUE(Eventually([&] { return registry.Find("a").needs_id == "a"; }));
  Answer meanwhile;
  ASSERT_TRUE(registry.Load("a", meanwhile.Taker()));
  EXPECT_EQ(registry.StopWaiting(*ticket).code, "models_busy");
  EXPECT_EQ(meanwhile.Await()->get(), used->get());
  EXPECT_EQ(registry.Find("a").lease->id, "a");
  EXPECT_TRUE(IsUnloaded(registry, "b"));
  EXPECT_FALSE(waits.is_there());
}

TEST(ModelRegistryTest, WhatNeverFitsMovesNobody) {
  FakeDisk disk;
  disk.Add("a", 100);
  disk.Add("large", 151);
  ModelRegistry registry(disk.Options(300));
  EXPECT_TRUE(LoadNow(registry, "a"));
  const Loaded refused = LoadNow(registry, "large");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_EQ(refused.error().code, "model_too_large");
  EXPECT_THAT(refused.error().message, HasSubstr("302 B"));
  EXPECT_THAT(refused.error().message, HasSubstr("has 300 B"));
  EXPECT_FALSE(StatusOf(registry, "large").fits);
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kLoaded);
  EXPECT_THAT(disk.TakeEvents(), ElementsAre("open a", "load a in 200", "open large"));
}

TEST(ModelRegistryTest, WhatCannotBeLoadedIsTriedAgainOnceItHasChanged) {
  FakeDisk disk;
  const TemporaryDirectory directory;
  const std::string path = directory.Write("a.gguf", "old");
  std::filesystem::last_write_time(path, std::filesystem::file_time_type() + std::chrono::hours(1));
  disk.Break("a", path);
  ModelRegistry registry(disk.Options(300));
  for (int i = 0; i < 2; ++i) {
    const Loaded refused = LoadNow(registry, "a");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "model_not_loadable");
    EXPECT_THAT(refused.error().message, HasSubstr("'a' cannot be loaded: it is broken"));
  }
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kFailed);
  EXPECT_EQ(StatusOf(registry, "a").failure, "it is broken");
  EXPECT_THAT(disk.TakeEvents(), ElementsAre("open a"));
  disk.Repair("a");
  EXPECT_FALSE(LoadNow(registry, "a"));
  std::filesystem::last_write_time(path, std::filesystem::file_time_type() + std::chrono::hours(2));
  EXPECT_TRUE(LoadNow(registry, "a"));
  EXPECT_EQ(StatusOf(registry, "a").failure, "");
}

TEST(ModelRegistryTest, IdleModelsLeave) {
  FakeDisk disk;
  disk.Add("a", 10);
  disk.Add("b", 10);
  ModelRegistry registry(disk.Options(1000, milliseconds(0)));
  Loaded used = LoadNow(registry, "a");
  EXPECT_FALSE(StatusOf(registry, "a").expires_at);
  EXPECT_TRUE(LoadNow(registry, "b"));
  EXPECT_TRUE(Eventually([&] { return IsUnloaded(registry, "b"); }));
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kLoaded);
  registry.SetKeepAlive("a", std::chrono::hours(1));
  used = tl::unexpected(ApiError());
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kLoaded);
  EXPECT_TRUE(StatusOf(registry, "a").expires_at);
  registry.SetKeepAlive("a", milliseconds(0));
  EXPECT_TRUE(Eventually([&] { return IsUnloaded(registry, "a"); }));
}

TEST(ModelRegistryTest, AnOperatorUnloadsWhatNobodyUses) {
  FakeDisk disk;
  disk.Add("a", 10);
  ModelRegistry registry(disk.Options(1000));
  EXPECT_TRUE(registry.Unload("a"));  // it is not loaded: nothing is to be done
  Loaded used = LoadNow(registry, "a");
  EXPECT_TRUE(registry.Unload("a"));
  EXPECT_EQ(StatusOf(registry, "a").state, ModelState::kLeaving);
  used = tl::unexpected(ApiError());
  EXPECT_TRUE(Eventually([&] { return IsUnloaded(registry, "a"); }));
  EXPECT_EQ(registry.Unload("b").error().code, "model_not_found");
}

TEST(ModelRegistryTest, TheDiskIsLookedAtAgain) {
  FakeDisk disk;
  ModelRegistry registry(disk.Options(1000));
  EXPECT_EQ(registry.Find("a").needs_id, "");
  disk.Add("a", 10);
  EXPECT_EQ(registry.Find("a").needs_id, "a");
  const Loaded used = LoadNow(registry, "a");
  disk.Remove("a");
  EXPECT_EQ(registry.List().size(), 1U);  // as long as it is loaded
  EXPECT_TRUE(registry.Unload("a"));
}

TEST(ModelRegistryTest, SoManyMayWait) {
  FakeDisk disk;
  disk.Add("a", 10);
  disk.HoldLoads();
  RegistryOptions options = disk.Options(1000);
  options.max_waiting = 2;
  ModelRegistry registry(std::move(options));
  EXPECT_EQ(registry.Room(), 2);
  std::vector<Answer> answers(2);
  std::vector<ModelRegistry::Ticket> tickets;
  for (Answer& answer : answers) tickets.push_back(*registry.Load("a", answer.Taker()));
  const auto refused = registry.Load("a", Answer().Taker());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 503);
  EXPECT_EQ(refused.error().code, "overloaded");
  EXPECT_GT(refused.error().retry_after.count(), 0);
  EXPECT_EQ(registry.Room(), 0);
  EXPECT_EQ(registry.StopWaiting(tickets[0]).code, "model_loading");
  EXPECT_EQ(registry.Room(), 1);
  disk.ReleaseLoads();
  EXPECT_TRUE(answers[1].Await());
  EXPECT_FALSE(answers[0].is_there());
}

TEST(ModelRegistryTest, AShutdownTellsThoseWhoWait) {
  FakeDisk disk;
  disk.Add("a", 10);
  disk.Add("b", 10);
  disk.HoldLoads();
  ModelRegistry registry(disk.Options(1000));
  Answer first;
  Answer second;
  ASSERT_TRUE(registry.Load("a", first.Taker()));
  ASSERT_TRUE(registry.Load("b", second.Taker()));
  EXPECT_TRUE(Eventually([&] { return disk.event_count() == 2; }));
  registry.Shutdown(std::chrono::steady_clock::now());
  EXPECT_EQ(first.Await().error().code, "shutting_down");
  EXPECT_EQ(second.Await().error().code, "shutting_down");
  EXPECT_EQ(registry.Load("b", Answer().Taker()).error().code, "shutting_down");
}

// Everything at once, for the sanitizers.
TEST(ModelRegistryTest, ManyThreadsUseFewModels) {
  FakeDisk disk;
  for (const char* id : {"a", "b", "c"}) disk.Add(id, 100);
  ModelRegistry registry(disk.Options(450, milliseconds(1)));
  std::atomic<int> used_count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 25; ++round) {
        const std::string id(1, static_cast<char>('a' + (i + round) % 3));
        ModelRegistry::Found found = registry.Find(id);
        if (found.lease == nullptr) {
          Loaded loaded = LoadNow(registry, found.needs_id);
          if (!loaded) continue;
          found.lease = *std::move(loaded);
        }
        EXPECT_EQ(found.lease->id, id);
        EXPECT_GT(found.lease->engine->queue_room(), 0);
        EXPECT_EQ(registry.List().size(), 3U);
        ++used_count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(used_count, 100);
}

}  // namespace
}  // namespace weft
