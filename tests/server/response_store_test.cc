// The bounds of the store, and who goes when they are reached.
#include "server/response_store.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

std::shared_ptr<StoredResponse> Made(const std::string& id, size_t body_bytes = 10) {
  auto response = std::make_shared<StoredResponse>();
  response->id = id;
  response->body = std::string(body_bytes, 'x');
  response->input = {std::make_shared<const StoredItem>(StoredItem{id + "_in", "{}"})};
  response->output = {std::make_shared<const StoredItem>(StoredItem{id + "_out", "{}"})};
  return response;
}

TEST(ResponseStoreTest, KeepsFindsAndErases) {
  ResponseStore store({});
  EXPECT_TRUE(store.enabled());
  EXPECT_TRUE(store.Put(Made("a")));
  EXPECT_TRUE(store.Put(Made("b")));
  EXPECT_EQ(store.Find("a")->id, "a");
  EXPECT_EQ(store.Find("c"), nullptr);
  EXPECT_EQ(store.FindItem("b_out")->json, "{}");
  EXPECT_EQ(store.FindItem("b"), nullptr);
  EXPECT_TRUE(store.Erase("a"));
  EXPECT_FALSE(store.Erase("a"));
  EXPECT_EQ(store.Find("a"), nullptr);
  EXPECT_EQ(store.FindItem("a_in"), nullptr);
  EXPECT_EQ(store.count(), 1U);
  EXPECT_TRUE(store.Erase("b"));
  EXPECT_EQ(store.used_bytes(), 0U);
}

TEST(ResponseStoreTest, TheOldestGoFirst) {
  ResponseStore store({.size_bytes = 100'000, .count = 3});
  for (const char* const id : {"a", "b", "c", "d"}) EXPECT_TRUE(store.Put(Made(id)));
  EXPECT_EQ(store.Find("a"), nullptr);
  EXPECT_NE(store.Find("b"), nullptr);
  EXPECT_EQ(store.count(), 3U);
  // Being looked at does not make it younger.
  EXPECT_TRUE(store.Put(Made("e")));
  EXPECT_EQ(store.Find("b"), nullptr);
}

TEST(ResponseStoreTest, CountsBytes) {
  ResponseStore store({.size_bytes = 20'000, .count = 100});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(store.Put(Made(std::to_string(i), 5000)));
    EXPECT_LE(store.used_bytes(), 20'000U);
    EXPECT_GT(store.used_bytes(), 5000U);
  }
  EXPECT_EQ(store.count(), 3U);
  // One that is too large itself changes nothing.
  EXPECT_FALSE(store.Put(Made("large", 30'000)));
  EXPECT_EQ(store.count(), 3U);
  EXPECT_EQ(store.Find("large"), nullptr);
  EXPECT_NE(store.Find("19"), nullptr);
}

TEST(ResponseStoreTest, ItemsCountForEveryResponseThatHoldsThem) {
  ResponseStore store({});
  auto first = Made("a");
  first->output = {std::make_shared<const StoredItem>(StoredItem{"x", std::string(10'000, 'x')})};
  EXPECT_TRUE(store.Put(first));
  auto second = Made("b");
  second->history = first->output;
  EXPECT_TRUE(store.Put(second));
  EXPECT_GT(store.used_bytes(), 20'000U);
  // An item is found as long as the response lives that made it.
  EXPECT_NE(store.FindItem("x"), nullptr);
  EXPECT_TRUE(store.Erase("a"));
  EXPECT_EQ(store.FindItem("x"), nullptr);
}

TEST(ResponseStoreTest, AnItemIsFoundWhileAnyResponseHasIt) {
  ResponseStore store({});
  const auto first = Made("a");
  EXPECT_TRUE(store.Put(first));
  auto second = Made("b");
  second->input = first->output;  // by a reference
  EXPECT_TRUE(store.Put(second));
  auto third = Made("c");  // an item of its own with the same id, twice
  const auto other = std::make_shared<const StoredItem>(StoredItem{"a_out", "{\"x\":1}"});
  third->input = {other, other};
  EXPECT_TRUE(store.Put(third));
  EXPECT_TRUE(store.Erase("a"));
  EXPECT_EQ(store.FindItem("a_out")->json, "{}");
  EXPECT_EQ(store.FindItem("a_in"), nullptr);
  EXPECT_TRUE(store.Replace(second));  // it holds what it held
  EXPECT_NE(store.FindItem("a_out"), nullptr);
  EXPECT_TRUE(store.Erase("b"));
  EXPECT_EQ(store.FindItem("a_out")->json, "{\"x\":1}");
  EXPECT_TRUE(store.Erase("c"));
  EXPECT_EQ(store.FindItem("a_out"), nullptr);
}

TEST(ResponseStoreTest, WhatRunsStays) {
  ResponseStore store({.size_bytes = 100'000, .count = 2});
  auto running = Made("running");
  running->finished = false;
  EXPECT_TRUE(store.Put(running));
  EXPECT_TRUE(store.Put(Made("a")));
  EXPECT_TRUE(store.Put(Made("b")));
  EXPECT_NE(store.Find("running"), nullptr);
  EXPECT_EQ(store.Find("a"), nullptr);
  auto other = Made("other");
  other->finished = false;
  EXPECT_TRUE(store.Put(other));
  EXPECT_FALSE(store.Put(Made("c")));  // no room beside two that run

  EXPECT_TRUE(store.Replace(Made("running")));  // it has finished, and keeps its place
  EXPECT_TRUE(store.Find("running")->finished);
  EXPECT_TRUE(store.Put(Made("c")));
  EXPECT_EQ(store.Find("running"), nullptr);
  EXPECT_FALSE(store.Replace(Made("running")));  // deleted meanwhile
}

TEST(ResponseStoreTest, WithoutRoomNothingIsStored) {
  ResponseStore store({.size_bytes = 0});
  EXPECT_FALSE(store.enabled());
  EXPECT_FALSE(store.Put(Made("a")));
  EXPECT_EQ(store.Find("a"), nullptr);
}

TEST(ResponseStoreTest, ManyThreadsMayUseIt) {
  ResponseStore store({.size_bytes = 50'000, .count = 20});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(store.Put(Made(id, 1000)));
        const auto found = store.Find(id);
        EXPECT_TRUE(found == nullptr || found->id == id);
        store.FindItem(id + "_in");
        if (i % 3 == 0) store.Erase(id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store.count(), 20U);
  EXPECT_LE(store.used_bytes(), 50'000U);
}

}  // namespace
}  // namespace weft
