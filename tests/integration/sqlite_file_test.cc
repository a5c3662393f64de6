// The SQLite store's file over its life: reopened, resumed, damaged, foreign, too new,
// read-only, taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "store/sqlite_file.h"
#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::store {
namespace {

using testing::HasSubstr;

// A file nobody can write while this lives. Root may write whatever its mode says, but not through
// a mount that is read-only.
class Unwritable {
 public:
  explicit Unwritable(const std::string& path) : path_(path) {
    if (geteuid() != 0) {
      std::filesystem::permissions(path, std::filesystem::perms::owner_read);
      return;
    }
    mounted_ = ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
    constexpr unsigned long kReadOnly = MS_BIND | MS_REMOUNT | MS_RDONLY;
    if (mounted_) ::mount(nullptr, path.c_str(), nullptr, kReadOnly, nullptr);
  }
  ~Unwritable() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  Unwritable(const Unwritable&) = delete;
  Unwritable& operator=(const Unwritable&) = delete;

  bool holds() const { return ::access(path_.c_str(), W_OK) != 0; }

 private:
  std::string path_;
  bool mounted_ = false;
};

class SqliteFile : public testing::Test {
 protected:
  Result<std::unique_ptr<SqliteStore>> open() {
    return SqliteStore::open(io_.get_executor(), {.path = path_, .writer = writer_});
  }
  std::unique_ptr<SqliteStore> must_open() {
    auto opened = open();
    HF_CHECK(opened.ok(), opened.status().ToString());
    return *std::move(opened);
  }
  Revision commit(Store& store, std::vector<Operation> operations) {
    const auto revision = run(io_, store.commit(std::move(operations)));
    HF_CHECK(revision.ok(), revision.status().ToString());
    return *revision;
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(size_t offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  // Fails to open with this code and this in its message, and leaves the file as it was.
  void expect_refused(absl::StatusCode code, const std::string& message) {
    const std::string before = bytes_of(path_);
    const auto opened = open();
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), code) << opened.status();
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(message));
    EXPECT_EQ(bytes_of(path_), before);
  }
  void fill() {
    const auto store = must_open();
    for (int i = 0; i < 200; ++i) {
      commit(*store, {put("/key/" + std::to_string(i), std::string(1000, 'v'))});
    }
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("store.db");
  asio::io_context io_;
  SqliteWriter::Options writer_;
};

TEST_F(SqliteFile, KeepsItemsRevisionsAndHistoryOverARestart) {
  Revision first = 0;
  {
    const auto store = must_open();
    first = commit(*store, {put("/a", "1")});
    commit(*store, {put("/b", "2"), put("/c", "3")});
    commit(*store, {erase("/a")});
  }
  const auto store = must_open();

  EXPECT_EQ(run(io_, store->get("/b"))->value, "2");
  EXPECT_EQ(run(io_, store->get("/a")).status().code(), absl::StatusCode::kNotFound);
  auto watch = run(io_, store->watch(prefix_range("/"), first));
  ASSERT_TRUE(watch.ok());
  const auto seen = run(io_, (*watch)->next());
  EXPECT_THAT(texts(*seen, first), testing::ElementsAre("put /b=2@1", "put /c=3@1", "delete /a@2"));
  EXPECT_EQ(commit(*store, {put("/d", "4")}), first + 3);
}

TEST_F(SqliteFile, ForgetsOldHistoryByItself) {
  writer_ = {.history = 10, .compact_every = 5};
  const auto store = must_open();
  Revision last = 0;
  for (int i = 0; i < 40; ++i) last = commit(*store, {put("/a", std::to_string(i))});

  EXPECT_EQ(run(io_, store->watch(prefix_range("/"), last - 30)).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(run(io_, store->watch(prefix_range("/"), last - 5)).ok());
}

TEST_F(SqliteFile, KeepsItsRevisionWhenAllHistoryIsForgotten) {
  Revision last = 0;
  {
    const auto store = must_open();
    last = commit(*store, {put("/a", "1")});
    ASSERT_TRUE(run(io_, store->compact(last)).ok());
  }
  const auto store = must_open();

  EXPECT_EQ(commit(*store, {put("/a", "2")}), last + 1);
}

TEST_F(SqliteFile, RefusesAFileThatIsNotADatabase) {
  std::ofstream(path_) << std::string(4096, 'x');

  expect_refused(absl::StatusCode::kDataLoss, path_);
}

TEST_F(SqliteFile, RefusesAFileCutShort) {
  std::ofstream(path_) << "SQLite format 3";

  expect_refused(absl::StatusCode::kDataLoss, "left as it is");
}

TEST_F(SqliteFile, RefusesAnotherProgramsDatabase) {
  auto other = SqliteDatabase::open(path_, SqliteDatabase::Mode::Create);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->execute("CREATE TABLE theirs(x)").ok());

  expect_refused(absl::StatusCode::kFailedPrecondition, "another program");
}

TEST_F(SqliteFile, RefusesAFileOfANewerVersion) {
  fill();
  overwrite(60, std::string("\0\0\0\x63", 4));

  expect_refused(absl::StatusCode::kFailedPrecondition, "schema version 99");
}

// The schema of version 1, as it was, with three revisions in it.
constexpr const char* kVersion1 = R"sql(
  PRAGMA journal_mode=WAL;
  BEGIN;
  PRAGMA application_id=1212576628;
  PRAGMA user_version=1;
  CREATE TABLE item(
    key BLOB PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
  CREATE INDEX item_expires ON item(expires) WHERE expires IS NOT NULL;
  CREATE TABLE change(
    revision INTEGER NOT NULL, position INTEGER NOT NULL, type INTEGER NOT NULL,
    key BLOB NOT NULL, value BLOB NOT NULL, created INTEGER NOT NULL, expires INTEGER,
    PRIMARY KEY(revision, position)) WITHOUT ROWID;
  CREATE TABLE meta(name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES('compacted', 1);
  INSERT INTO item VALUES(CAST('/a' AS BLOB), CAST('1' AS BLOB), 2, 2, NULL);
  INSERT INTO item VALUES(CAST('/b' AS BLOB), CAST('3' AS BLOB), 4, 3, 5000);
  INSERT INTO change VALUES(2, 0, 0, CAST('/a' AS BLOB), CAST('1' AS BLOB), 2, NULL);
  INSERT INTO change VALUES(3, 0, 0, CAST('/b' AS BLOB), CAST('2' AS BLOB), 3, NULL);
  INSERT INTO change VALUES(4, 0, 0, CAST('/b' AS BLOB), CAST('3' AS BLOB), 3, 5000);
  COMMIT;
)sql";

TEST_F(SqliteFile, UpgradesAFileOfTheFormerVersionInPlace) {
  {
    auto old = SqliteDatabase::open(path_, SqliteDatabase::Mode::Create);
    ASSERT_TRUE(old.ok());
    const Status made = old->execute(kVersion1);
    ASSERT_TRUE(made.ok()) << made;
  }
  std::string store_id;
  {
    const auto store = must_open();
    store_id = store->facts().store_id;
    EXPECT_EQ(store->facts().head, (Head{.epoch = 0, .revision = 4, .chain = 0}));
    EXPECT_EQ(bytes_of(path_).substr(60, 4), std::string("\0\0\0\x02", 4)) << "where old ones look";
  }
  const auto store = must_open();

  EXPECT_THAT(store_id, testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(store->facts().store_id, store_id) << "drawn once";
  EXPECT_EQ(run(io_, store->get("/a"))->value, "1");
  auto watch = run(io_, store->watch(prefix_range("/"), 2));
  ASSERT_TRUE(watch.ok());
  EXPECT_THAT(texts(*run(io_, (*watch)->next()), 0),
              testing::ElementsAre("put /b=2@3", "put /b=3@4"));
  EXPECT_EQ(*run(io_, store->expire(WallTime(std::chrono::milliseconds(5000)), 10)), 1u);
  ASSERT_TRUE(run(io_, store->begin_tenure(1)).ok());
  EXPECT_EQ(commit(*store, {put("/c", "4")}), 6);
  EXPECT_EQ(run(io_, store->entries(5, 1000))->size(), 1u);
}

TEST_F(SqliteFile, AnUpgradeThatFailsLeavesTheFormerVersion) {
  {
    auto old = SqliteDatabase::open(path_, SqliteDatabase::Mode::Create);
    ASSERT_TRUE(old.ok());
    ASSERT_TRUE(old->execute(kVersion1).ok());
    ASSERT_TRUE(old->execute("CREATE TABLE incoming(in_the_way)").ok());
  }

  expect_refused(absl::StatusCode::kUnavailable, "upgrading");
  auto file = SqliteDatabase::open(path_, SqliteDatabase::Mode::ReadWrite);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file->query_number("PRAGMA user_version"), 1);
  EXPECT_FALSE(file->query_number("SELECT epoch FROM tenure").ok());
}

TEST_F(SqliteFile, ForgetsACopyThatWasNotFinished) {
  ReplicaFacts facts;
  {
    const auto store = must_open();
    ASSERT_TRUE(run(io_, store->begin_tenure(1)).ok());
    facts = store->facts();
    CopyPage page;
    page.items = {{.key = "/a", .value = std::string(100'000, 'v'), .revision = 1}};
    ASSERT_TRUE(run(io_, store->begin_copy(facts)).ok());
    ASSERT_TRUE(run(io_, store->add_to_copy(page)).ok());
  }
  const auto store = must_open();

  EXPECT_EQ(run(io_, store->finish_copy(2)).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(run(io_, store->get("/a")).status().code(), absl::StatusCode::kNotFound);
  auto file = SqliteDatabase::open(path_, SqliteDatabase::Mode::ReadOnly);
  EXPECT_EQ(*file->query_number("SELECT count(*) FROM incoming"), 0);
}

TEST_F(SqliteFile, ACopyThatIsReadTooSlowlyIsEnded) {
  auto opened =
      SqliteStore::open(io_.get_executor(), {.path = path_, .max_bytes_behind_copy = 50'000});
  ASSERT_TRUE(opened.ok());
  SqliteStore& store = **opened;
  commit(store, {put("/a", "1"), put("/b", "2")});
  ASSERT_TRUE(run(io_, store.begin_tenure(1)).ok());
  ASSERT_TRUE(run(io_, store.begin_reading()).ok());
  for (int i = 0; i < 4; ++i) commit(store, {put("/a", std::string(10'000, 'v'))});
  EXPECT_TRUE(run(io_, store.read_page(1)).ok());

  for (int i = 0; i < 4; ++i) commit(store, {put("/a", std::string(10'000, 'v'))});

  EXPECT_EQ(run(io_, store.read_page(1)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store.stats().copies_ended, 1u);
  EXPECT_TRUE(run(io_, store.begin_reading()).ok());
  EXPECT_TRUE(run(io_, store.read_page(1)).ok());
}

TEST_F(SqliteFile, RefusesADamagedFile) {
  fill();
  const auto size = std::filesystem::file_size(path_);
  for (size_t page = 4096 * 4; page + 4096 < size; page += 4096) {
    overwrite(page, std::string(512, '\xa5'));
  }

  expect_refused(absl::StatusCode::kDataLoss, "damaged");
}

TEST_F(SqliteFile, WhatToDoAboutADamagedFileIsForWhoOpensItToSay) {
  fill();
  overwrite(0, "damaged");

  const Status alone = open_sqlite_file(path_).status();
  const Status half = open_sqlite_file(path_, kTakeACopy).status();

  EXPECT_THAT(std::string(alone.message()), testing::EndsWith(std::string(kRestoreOrStartEmpty)));
  EXPECT_THAT(std::string(half.message()), testing::EndsWith(std::string(kTakeACopy)));
}

TEST_F(SqliteFile, RefusesATruncatedFile) {
  fill();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2 / 4096 * 4096);

  expect_refused(absl::StatusCode::kDataLoss, "damaged");
}

TEST_F(SqliteFile, RefusesAFileItCannotWrite) {
  fill();
  const Unwritable unwritable(path_);
  if (!unwritable.holds()) GTEST_SKIP() << "this machine does not let root make a bind mount";

  expect_refused(absl::StatusCode::kPermissionDenied, path_ + " cannot be written");
}

TEST_F(SqliteFile, RefusesALogWithoutItsFile) {
  std::ofstream(path_ + "-wal") << "left over";

  const auto opened = open();

  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(bytes_of(path_ + "-wal"), "left over");
}

TEST_F(SqliteFile, ASecondProcessIsToldWhoHasIt) {
  const auto store = must_open();

  const auto second = open();

  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(getpid())));
}

TEST_F(SqliteFile, ALockKnowsThatItsFileWasReplaced) {
  const auto lock = FileLock::acquire(path_);
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(lock->is_current());

  std::filesystem::remove(path_ + ".lock");
  EXPECT_FALSE(lock->is_current());
  std::ofstream(path_ + ".lock") << "another";
  EXPECT_FALSE(lock->is_current());
}

TEST_F(SqliteFile, AFolderThatIsNotThereIsNamed) {
  path_ = dir_.file("no/such/folder/store.db");

  EXPECT_THAT(std::string(open().status().message()), HasSubstr(path_));
}

TEST_F(SqliteFile, IsForItsOwnerOnly) {
  const auto store = must_open();

  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(path_).permissions() & others, std::filesystem::perms::none);
}

TEST_F(SqliteFile, RefusesWritesBeyondWhatMayWait) {
  auto opened = SqliteStore::open(io_.get_executor(), {.path = path_, .max_pending_writes = 2});
  ASSERT_TRUE(opened.ok());
  int refused = 0;
  const auto write = [&](int i) -> asio::awaitable<Status> {
    const auto revision = co_await (*opened)->commit({put("/k" + std::to_string(i), "v")});
    if (absl::IsResourceExhausted(revision.status())) refused += 1;
    co_return revision.status();
  };
  int finished = 0;
  for (int i = 0; i < 20; ++i) {
    asio::co_spawn(io_, write(i), [&](std::exception_ptr, const Status&) { finished += 1; });
  }

  io_.run();

  EXPECT_EQ(finished, 20);
  EXPECT_EQ(refused, 17);  // one is being written, two wait
  EXPECT_EQ((*opened)->stats().refused_when_full, 17u);
}

}  // namespace
}  // namespace holdfast::store
