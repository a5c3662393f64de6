// What a passive half does with what it is sent, on a real store.
#include "ha/intake_service.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ha/pair_service.h"
#include "ha/quarantine_loader.h"
#include "ha/quarantine_service.h"
#include "ha/wire.h"
#include "net/task_group.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

template <typename Store>
void commit(asio::io_context& io, Store& to, const std::string& key, const std::string& value) {
  std::vector<store::Operation> operations;
  operations.push_back(store::put(key, value));
  ASSERT_TRUE(store::run(io, to.commit(std::move(operations))).ok());
}

// All of it, as an active half of `epoch` sends it.
v1::ReplicateRequest whole_copy(asio::io_context& io, store::MemoryStore& from, Epoch epoch) {
  v1::ReplicateRequest request;
  request.set_epoch(epoch);
  const store::ReplicaFacts facts = *store::run(io, from.begin_reading());
  const store::CopyPage page = *store::run(io, from.read_page(1 << 20));
  v1::PairCopy& copy = *request.mutable_copy();
  *copy.mutable_head() = to_proto(facts.head);
  add_tenures(facts.tenures, 64, *copy.mutable_tenures());
  for (const store::Item& item : page.items) *copy.add_items() = to_proto(item);
  copy.set_last(page.last);
  return request;
}

class Intake : public testing::Test {
 protected:
  template <typename T>
  T run(asio::awaitable<T> work) {
    return store::run(io_, std::move(work));
  }
  void commit(store::MemoryStore& to, const std::string& key, const std::string& value) {
    ha::commit(io_, to, key, value);
  }
  // As the active half sends what comes after where the passive one says that it is.
  v1::ReplicateRequest entries_of(store::MemoryStore& from, const Head& after, Epoch epoch) {
    v1::ReplicateRequest request;
    request.set_epoch(epoch);
    *request.mutable_after() = to_proto(after);
    const auto entries = run(from.entries(after.revision, 1 << 20));
    for (const store::Entry& entry : *entries) *request.add_entries() = to_proto(entry);
    return request;
  }
  v1::ReplicateRequest copy_of(store::MemoryStore& from, Epoch epoch) {
    v1::ReplicateRequest request = whole_copy(io_, from, epoch);
    request.mutable_copy()->set_id(++copies_);
    return request;
  }
  Result<v1::ReplicateResponse> take(v1::ReplicateRequest request) {
    return run(intake_.take(std::move(request)));
  }

  asio::io_context io_;
  asio::thread_pool worker_{1};
  test::TempDir folder_;
  bool unfit_ = false;
  uint64_t copies_ = 0;
  store::MemoryStore mine_{io_.get_executor(), {.store_id = std::string(32, 'a')}};
  store::MemoryStore theirs_{io_.get_executor(), {.store_id = std::string(32, 'b')}};
  IntakeService intake_{
      io_.get_executor(),
      mine_,
      {.may_take = [](Epoch) { return absl::OkStatus(); },
       .on_appended = [this](Epoch, const Head&) { unfit_ = false; },
       .on_promised = [](Epoch) {},
       .before_copy =
           [this](const store::ReplicaFacts& of) {
             return keep_lost(mine_, of, {.folder = folder_.file("divergence"), .unfit = unfit_},
                              WallTime(), worker_);
           },
       .on_unfit = [this] { unfit_ = true; },
       .is_unfit = [this] { return unfit_; }}};
};

// A disk was lost in best-effort mode, and a half began again with epochs that were used before.
TEST_F(Intake, AnotherHistoryWithTheSameEpochsIsPutAsideAndReplacedByACopy) {
  ASSERT_TRUE(run(mine_.begin_tenure(1)).ok());
  commit(mine_, "mine", "1");
  ASSERT_TRUE(run(theirs_.begin_tenure(1)).ok());
  commit(theirs_, "theirs", "1");
  commit(theirs_, "theirs", "2");
  ASSERT_NE(mine_.facts().head.chain, theirs_.facts().head.chain);

  const auto refused = take(entries_of(theirs_, mine_.facts().head, 1));
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_TRUE(refused->needs_copy());
  EXPECT_TRUE(run(mine_.get("mine")).ok()) << "nothing is changed before it is kept";
  v1::ReplicateRequest question;
  question.set_epoch(1);
  EXPECT_TRUE(take(question)->needs_copy()) << "the copy was lost, and it is asked again";

  const auto copied = take(copy_of(theirs_, 1));
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_FALSE(copied->needs_copy());
  EXPECT_EQ(mine_.facts().head, theirs_.facts().head);
  const std::vector<std::string> files = quarantine_files(folder_.file("divergence"));
  ASSERT_EQ(files.size(), 1U);
  const Result<Quarantine> kept = load_quarantine(folder_.file("divergence"), files[0]);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->entries.size(), 1U);
  EXPECT_EQ(kept->entries[0].changes[0].item.key, "mine");
}

TEST_F(Intake, ACopyThatEntriesHaveOvertakenIsNotTaken) {
  ASSERT_TRUE(run(theirs_.begin_tenure(1)).ok());
  commit(theirs_, "one", "1");
  v1::ReplicateRequest first = copy_of(theirs_, 1);
  ASSERT_TRUE(take(first).ok());
  commit(theirs_, "two", "2");
  const auto late = copy_of(theirs_, 1);
  ASSERT_TRUE(take(entries_of(theirs_, mine_.facts().head, 1)).ok());
  ASSERT_EQ(mine_.facts().head, theirs_.facts().head);
  commit(theirs_, "three", "3");
  ASSERT_TRUE(take(entries_of(theirs_, mine_.facts().head, 1)).ok());

  const auto taken = take(late);
  EXPECT_TRUE(absl::IsAborted(taken.status())) << taken.status();
  EXPECT_TRUE(run(mine_.get("three")).ok());
}

// A whole half on a real disk, which is promoted by force while the other one, promoted higher,
// sends it a shorter history. The disk answers only when it is told to: it has a loop of its own,
// so the order of what happens is the test's.
class PromotedUnderACopy : public testing::Test {
 protected:
  static constexpr Epoch kTheirs = 5001;

  void SetUp() override {
    auto opened =
        store::SqliteStore::open(disk_.get_executor(), {.path = folder_.file("store.db")});
    ASSERT_TRUE(opened.ok()) << opened.status();
    mine_ = *std::move(opened);
    ASSERT_TRUE(store::run(disk_, mine_->begin_tenure(2)).ok());
    for (const char* key : {"one", "two", "three"}) ha::commit(disk_, *mine_, key, "mine");
    ASSERT_TRUE(store::run(loop_, theirs_.begin_tenure(kTheirs)).ok());
    ha::commit(loop_, theirs_, "one", "theirs");
    ASSERT_LT(theirs_.facts().head.revision, mine_->facts().head.revision);
    PairOptions options{.half = {.pair = {.me = Member::Backup, .mode = Mode::Sync}}};
    options.half.process = options.half.name = "backup";
    options.quarantine_folder = folder_.file("divergence");
    pair_.emplace(loop_.get_executor(), clock_, *mine_, options, PairHooks{});
  }
  void TearDown() override {
    const auto stopped = [this]() -> asio::awaitable<bool> {
      co_await pair_->stop();
      co_await tasks_.join();
      co_return true;
    };
    store::run(loop_, stopped());
  }

  // What is begun goes on whenever the loop does.
  template <typename T>
  static asio::awaitable<void> ignore(asio::awaitable<T> work) {
    static_cast<void>(co_await std::move(work));
  }
  template <typename T>
  void begin(asio::awaitable<T> work) {
    tasks_.spawn(ignore(std::move(work)));
  }
  void begin_copy() { begin(pair_->replicate(whole_copy(loop_, theirs_, kTheirs))); }
  // Its tenure is on its way to the store when it returns, and not there yet.
  void begin_promotion() {
    v1::PromoteRequest request;
    request.set_force(true);
    begin(pair_->promote(request));
    const bool began = step_until(loop_, [&] { return pair_->half().protocol().claiming(); });
    ASSERT_TRUE(began);
  }
  // All that can be done without the disk.
  void go_on() {
    loop_.restart();
    loop_.poll();
  }
  // What was on its way to the disk is there; nobody has been told.
  void finish_writing() {
    disk_.restart();
    ASSERT_EQ(disk_.run_one_for(std::chrono::seconds(60)), 1U);
  }
  // Comes to its end, the disk at work beside it.
  template <typename T>
  T finish(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(loop_, std::move(work),
                   [&result](const std::exception_ptr&, T value) { result = std::move(value); });
    const bool finished = step_until(loop_, [&] {
      disk_.restart();
      disk_.poll();
      return result.has_value();
    });
    EXPECT_TRUE(finished);
    return *std::move(result);
  }
  static bool step_until(asio::io_context& io, const std::function<bool()>& is_over) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_over() && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_one_for(std::chrono::milliseconds(1));
    }
    return is_over();
  }
  // Up to where its last step is begun when the loop goes on.
  void copy_up_to_its_end() {
    begin_copy();
    const uint64_t before = mine_->stats().batches;
    ASSERT_TRUE(step_until(loop_, [&] { return mine_->stats().batches > before; }));
    finish_writing();  // its beginning; what was to be kept is
    go_on();           // its only page
  }
  const Protocol& protocol() const { return pair_->half().protocol(); }

  asio::io_context loop_;
  asio::io_context disk_;
  SystemClock clock_;
  test::TempDir folder_;
  std::unique_ptr<store::SqliteStore> mine_;
  store::MemoryStore theirs_{loop_.get_executor(), {.store_id = std::string(32, 'b')}};
  std::optional<PairService> pair_;
  net::TaskGroup tasks_{loop_.get_executor()};
};

// Both are in one batch of the disk: when the half hears that its tenure has begun, it is over.
TEST_F(PromotedUnderACopy, ATenureThatIsOverWhenItHasBegunIsNotServed) {
  copy_up_to_its_end();
  begin(mine_->keep_note("disks are busy"));
  go_on();
  begin_promotion();
  finish_writing();  // the page
  go_on();           // the tenure, and then the end of the copy, wait for the note
  finish_writing();  // the note
  finish_writing();  // both
  ASSERT_EQ(mine_->facts().head, theirs_.facts().head);

  go_on();

  EXPECT_FALSE(pair_->is_active());
  EXPECT_EQ(protocol().head(), theirs_.facts().head);
  EXPECT_EQ(protocol().promised(), kTheirs);
}

// The operator insists, so it is active for the moment between the tenure and the copy.
TEST_F(PromotedUnderACopy, AnActiveHalfWhoseStoreIsReplacedStepsDown) {
  copy_up_to_its_end();
  begin_promotion();
  finish_writing();  // the page
  go_on();           // the tenure; the end of the copy waits for it
  begin_promotion();
  go_on();
  finish_writing();  // the tenure
  go_on();
  ASSERT_TRUE(pair_->is_active());
  finish_writing();  // the end of the copy; nobody has been told
  ASSERT_EQ(mine_->facts().head, theirs_.facts().head);

  // Whatever happens now looks at the store.
  EXPECT_FALSE(pair_->check_epoch(2 * kTheirs, true).ok());
  go_on();

  EXPECT_FALSE(pair_->is_active());
  EXPECT_EQ(protocol().head(), theirs_.facts().head);
}

// What is written after the old store was kept, and before the copy replaces it, is in neither.
TEST_F(PromotedUnderACopy, WhatIsWrittenDuringACopyIsKeptBeforeItIsReplaced) {
  v1::ReplicateRequest first = whole_copy(loop_, theirs_, kTheirs);
  v1::ReplicateRequest last = first;
  first.mutable_copy()->set_last(false);
  last.mutable_copy()->set_page(1);
  last.mutable_copy()->clear_items();
  ASSERT_TRUE(finish(pair_->replicate(first)).ok());
  v1::PromoteRequest force;
  force.set_force(true);
  ASSERT_TRUE(finish(pair_->promote(force)).ok());
  std::vector<store::Operation> late;
  late.push_back(store::put("/service/late", "mine"));
  const Result<store::Revision> written = finish(mine_->commit(std::move(late)));
  ASSERT_TRUE(written.ok()) << written.status();
  ASSERT_TRUE(finish(pair_->acknowledged(*written)).ok());

  const auto refused = finish(pair_->replicate(last));
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_FALSE(pair_->is_active());
  const auto taken = finish(pair_->replicate(whole_copy(loop_, theirs_, kTheirs)));
  EXPECT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(mine_->facts().head, theirs_.facts().head);
  const std::vector<std::string> files = quarantine_files(folder_.file("divergence"));
  const bool kept = std::ranges::any_of(files, [&](const std::string& file) {
    const Result<Quarantine> one = load_quarantine(folder_.file("divergence"), file);
    return one.ok() && !one->entries.empty() &&
           one->entries.back().changes.back().item.key == "/service/late";
  });
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace holdfast::ha
