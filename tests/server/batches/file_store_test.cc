#include "server/batches/file_store.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "server/batches/batch_store.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class FileStoreTest : public ::testing::Test {
 protected:
  FileStoreTest() { Open(); }

  void Open(uint64_t max_bytes = 1000) {
    batches.reset();
    store.reset();
    auto opened =
        FileStore::Open({.directory = path, .max_bytes = max_bytes, .now = [this] { return now; }});
    ASSERT_TRUE(opened) << opened.error().message;
    store = *std::move(opened);
    batches = std::make_unique<BatchStore>(*store);
  }
  // The file's id, or why it was refused.
  std::string Upload(const std::string& owner, const std::string& text,
                     int32_t expiry_seconds = 3600) {
    auto upload = store->BeginUpload(owner);
    if (!upload) return upload.error().code;
    if (const auto written = (*upload)->Write(text); !written) return written.error().code;
    const ApiResult<FileObject> file =
        (*upload)->Keep({.filename = "in.jsonl", .expiry_seconds = expiry_seconds});
    return file ? file->id : file.error().code;
  }
  std::string Content(const std::string& owner, const std::string& id) {
    const ApiResult<RegularFile> file = store->OpenContent(owner, id);
    return file ? file->Read(10'000).value_or("unreadable") : file.error().code;
  }
  std::vector<std::string> Ids(const std::string& owner, const ListPage& page) {
    std::vector<std::string> ids;
    const ApiResult<FileList> list = store->List(owner, std::nullopt, page);
    if (!list) return {list.error().param};
    for (const FileObject& file : list->files) ids.push_back(file.id);
    if (list->has_more) ids.emplace_back("...");
    return ids;
  }
  size_t CountIn(const std::string& folder) const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path + folder)) count += entry.exists() ? 1 : 0;
    return count;
  }
  StoredBatch CreateBatch(const std::string& owner, const std::string& file_id) {
    BatchObject request;
    request.endpoint = "/v1/completions";
    request.input_file_id = file_id;
    const ApiResult<BatchObject> created = batches->Create(owner, request);
    EXPECT_TRUE(created) << created.error().message;
    Result<std::vector<StoredBatch>> unended = batches->Unended();
    for (StoredBatch& batch : *unended) {
      if (batch.object.id == created->id) return std::move(batch);
    }
    ADD_FAILURE() << "it is not there";
    return {};
  }

  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/files";
  int64_t now = 1'000'000;
  std::unique_ptr<FileStore> store;
  std::unique_ptr<BatchStore> batches;
};

TEST_F(FileStoreTest, FilesStayWhenTheProcessGoes) {
  const std::string id = Upload("", "text");
  EXPECT_TRUE(id.starts_with("file-") && id.size() == 37) << id;
  Open();
  EXPECT_EQ(Content("", id), "text");
  const ApiResult<FileObject> file = store->Find("", id);
  EXPECT_EQ(*file, (FileObject{.id = id,
                               .filename = "in.jsonl",
                               .purpose = "batch",
                               .size_bytes = 4,
                               .created_at = now,
                               .expires_at = now + 3600}));
  EXPECT_EQ(store->used_bytes(), 4U);
}

TEST_F(FileStoreTest, OthersFilesAreNotThere) {
  const std::string id = Upload("alice", "text");
  EXPECT_EQ(Content("bob", id), "file_not_found");
  EXPECT_EQ(Content("", id), "file_not_found");
  EXPECT_EQ(store->Delete("bob", id).error().code, "file_not_found");
  EXPECT_TRUE(Ids("bob", {}).empty());
  EXPECT_EQ(Ids("bob", {.after = id}), std::vector<std::string>{"after"});
  EXPECT_EQ(Content("alice", "../weft.db"), "file_not_found");
  EXPECT_EQ(Content("alice", id), "text");
}

TEST_F(FileStoreTest, ListsComeInPages) {
  const std::string a = Upload("", "1");
  const std::string b = Upload("", "2");
  const std::string c = Upload("", "3");
  EXPECT_EQ(Ids("", {}), (std::vector<std::string>{c, b, a}));
  EXPECT_EQ(Ids("", {.limit = 2, .after = {}}), (std::vector<std::string>{c, b, "..."}));
  EXPECT_EQ(Ids("", {.limit = 2, .after = b}), std::vector<std::string>{a});
  EXPECT_EQ(Ids("", {.newest_first = false, .after = a}), (std::vector<std::string>{b, c}));
  EXPECT_EQ(store->List("", "batch_output", {})->files.size(), 0U);
}

TEST_F(FileStoreTest, SpaceIsSharedAndComesBack) {
  Open(/*max_bytes=*/100);
  const std::string id = Upload("alice", std::string(50, 'x'));
  EXPECT_EQ(Upload("alice", "x"), "file_space_spent");  // half is for others
  EXPECT_TRUE(Upload("bob", std::string(50, 'x')).starts_with("file-"));
  EXPECT_EQ(Upload("", "x"), "file_space_spent");
  EXPECT_EQ(store->used_bytes(), 100U);
  EXPECT_TRUE(store->Delete("alice", id));
  EXPECT_EQ(store->used_bytes(), 50U);
  EXPECT_EQ(CountIn("/content"), 1U);
  Open(/*max_bytes=*/60);
  EXPECT_EQ(Upload("alice", std::string(11, 'x')), "file_space_spent");
  EXPECT_TRUE(Upload("alice", std::string(10, 'x')).starts_with("file-"));
}

TEST_F(FileStoreTest, AnUploadThatIsNotKeptLeavesNothing) {
  {
    auto upload = store->BeginUpload("");
    ASSERT_TRUE((*upload)->Write("half"));
    EXPECT_EQ(store->used_bytes(), 4U);
    EXPECT_EQ(CountIn("/incoming"), 1U);
  }
  EXPECT_EQ(store->used_bytes(), 0U);
  EXPECT_EQ(CountIn("/incoming"), 0U);
}

TEST_F(FileStoreTest, WhatAnUncleanEndHasLeftGoes) {
  const std::string id = Upload("", "text");
  directory.Write("files/incoming/file-cut", "half");
  directory.Write("files/content/file-unknown", "placed, but not recorded");
  Open();
  EXPECT_EQ(CountIn("/incoming"), 0U);
  EXPECT_EQ(CountIn("/content"), 1U);
  EXPECT_EQ(Content("", id), "text");
}

TEST_F(FileStoreTest, ExpiredFilesGo) {
  const std::string id = Upload("", "text");
  now += 3600;
  EXPECT_EQ(Content("", id), "file_not_found");
  EXPECT_EQ(CountIn("/content"), 1U);
  ASSERT_TRUE(store->RemoveExpired());
  EXPECT_EQ(CountIn("/content"), 0U);
  EXPECT_EQ(store->used_bytes(), 0U);
}

TEST_F(FileStoreTest, TheDirectoryIsOneProcessesAlone) {
  const FileStoreOptions options{.directory = path, .max_bytes = 1, .now = [] { return 1; }};
  const auto second = FileStore::Open(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.error().message, path + ": another process uses this directory");
  struct stat status {};
  for (const char* const name : {"", "/content", "/incoming"}) {
    ASSERT_EQ(stat((path + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U) << name;
  }
  for (const char* const name : {"/weft.db", "/weft.db-wal", "/lock"}) {
    ASSERT_EQ(stat((path + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U) << name;
  }
  batches.reset();
  store.reset();
  fs::permissions(path, fs::perms(0750));
  const auto open_to_others = FileStore::Open(options);
  ASSERT_FALSE(open_to_others);
  EXPECT_NE(open_to_others.error().message.find("mode 0750"), std::string::npos);
}

TEST_F(FileStoreTest, AFileThatABatchReadsStays) {
  const std::string id = Upload("", "text");
  StoredBatch batch = CreateBatch("", id);
  EXPECT_EQ(store->Delete("", id).error().code, "file_in_use");
  now += 3600;
  ASSERT_TRUE(store->RemoveExpired());
  EXPECT_TRUE(store->OpenInput(id));
  ASSERT_TRUE(batches->Finish(batch, BatchStatus::kCancelled));
  ASSERT_TRUE(store->RemoveExpired());
  EXPECT_FALSE(store->OpenInput(id));
}

TEST_F(FileStoreTest, ResultsBecomeFilesOnceAndForAll) {
  const std::string id = Upload("alice", "text");
  StoredBatch batch = CreateBatch("alice", id);
  batch.object.total_count = 3;
  ASSERT_TRUE(*batches->Update(batch, BatchStatus::kValidating));
  ASSERT_TRUE(*batches->AddResults(batch, {{.line = 3, .is_error = false, .text = "c"},
                                           {.line = 1, .is_error = false, .text = "a"}}));
  EXPECT_FALSE(batches->AddResults(batch, {{.line = 2, .is_error = true, .text = "b"},
                                           {.line = 1, .is_error = false, .text = "twice"}}));
  EXPECT_EQ(store->used_bytes(), 8U);
  Open();
  EXPECT_EQ(store->used_bytes(), 8U);
  EXPECT_EQ(*batches->LinesDone(batch), (std::set<int64_t>{1, 3}));  // all or none
  ASSERT_TRUE(*batches->AddResults(batch, {{.line = 2, .is_error = true, .text = "b"}}));
  ASSERT_TRUE(batches->Finish(batch, BatchStatus::kCompleted));
  EXPECT_EQ(store->used_bytes(), 10U);
  EXPECT_TRUE(batches->LinesDone(batch)->empty());
  Open();
  const ApiResult<BatchObject> ended = batches->Find("alice", batch.object.id);
  EXPECT_EQ(ended->status, BatchStatus::kCompleted);
  EXPECT_EQ(ended->completed_at, now);
  EXPECT_EQ(ended->completed_count, 2);
  EXPECT_EQ(ended->failed_count, 1);
  EXPECT_EQ(Content("alice", *ended->output_file_id), "a\nc\n");
  EXPECT_EQ(Content("alice", *ended->error_file_id), "b\n");
  EXPECT_EQ(Content("bob", *ended->error_file_id), "file_not_found");
  EXPECT_EQ(store->Find("alice", *ended->output_file_id)->expires_at, now + 30 * 24 * 3600);
}

TEST_F(FileStoreTest, WhatIsCancelledIsNotChangedBack) {
  StoredBatch batch = CreateBatch("", Upload("", "text"));
  EXPECT_EQ(batches->Cancel("bob", batch.object.id).error().code, "batch_not_found");
  EXPECT_EQ(batches->Cancel("", batch.object.id)->status, BatchStatus::kCancelling);
  batch.object.status = BatchStatus::kInProgress;
  EXPECT_FALSE(*batches->Update(batch, BatchStatus::kValidating));
  ASSERT_TRUE(*batches->AddResults(batch, {{.line = 1, .is_error = false, .text = "a"}}));
  EXPECT_EQ(batches->Find("", batch.object.id)->status, BatchStatus::kCancelling);
  ASSERT_TRUE(batches->Finish(batch, BatchStatus::kCancelled));
  EXPECT_EQ(batches->Cancel("", batch.object.id).error().code, "batch_has_ended");
  EXPECT_TRUE(batches->Unended()->empty());
  now += 31 * 24 * 3600;
  ASSERT_TRUE(batches->RemoveOld());
  EXPECT_EQ(batches->Find("", batch.object.id).error().code, "batch_not_found");
}

TEST_F(FileStoreTest, EachOwnersOldestBatchIsNext) {
  const StoredBatch first = CreateBatch("alice", Upload("alice", "1"));
  const ApiResult<BatchObject> second = batches->Create("alice", [&] {
    BatchObject request;
    request.endpoint = "/v1/completions";
    request.input_file_id = Upload("alice", "2");
    return request;
  }());
  const StoredBatch third = CreateBatch("bob", Upload("bob", "3"));
  const auto unended = batches->Unended();
  ASSERT_EQ(unended->size(), 2U);
  EXPECT_EQ((*unended)[0].sequence, first.sequence);
  EXPECT_EQ((*unended)[1].sequence, third.sequence);
  ASSERT_TRUE(batches->Cancel("alice", second->id));  // it need not wait for its turn
  EXPECT_EQ(batches->Unended()->size(), 3U);
  EXPECT_EQ(batches->List("alice", {})->batches.size(), 2U);
  EXPECT_TRUE(batches->List("alice", {.limit = 1, .after = {}})->has_more);
}

}  // namespace
}  // namespace weft
