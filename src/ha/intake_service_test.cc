// What a passive half does with what it is sent, on a real store.
#include "ha/intake_service.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ha/quarantine_loader.h"
#include "ha/quarantine_service.h"
#include "ha/wire.h"
#include "store/memory_store.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

class Intake : public testing::Test {
 protected:
  template <typename T>
  T run(asio::awaitable<T> work) {
    return store::run(io_, std::move(work));
  }
  void commit(store::MemoryStore& to, const std::string& key, const std::string& value) {
    std::vector<store::Operation> operations;
    operations.push_back(store::put(key, value));
    ASSERT_TRUE(run(to.commit(std::move(operations))).ok());
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
    v1::ReplicateRequest request;
    request.set_epoch(epoch);
    const store::ReplicaFacts facts = *run(from.begin_reading());
    const store::CopyPage page = *run(from.read_page(1 << 20));
    v1::PairCopy& copy = *request.mutable_copy();
    copy.set_id(++copies_);
    *copy.mutable_head() = to_proto(facts.head);
    add_tenures(facts.tenures, 64, *copy.mutable_tenures());
    for (const store::Item& item : page.items) *copy.add_items() = to_proto(item);
    copy.set_last(page.last);
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

}  // namespace
}  // namespace holdfast::ha
