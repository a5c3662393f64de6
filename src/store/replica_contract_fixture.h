// What the tests of the replica contract share: an active store, one that follows it, and their
// operations run to their end.
#pragma once

#include "store/replica.h"
#include "store/store_contract_fixture.h"

namespace holdfast::store {

// A store and its replica side: two views of one object.
struct ReplicaUnderTest {
  std::unique_ptr<Store> store;
  Replica* replica = nullptr;
};

class ReplicaHarness {
 public:
  virtual ~ReplicaHarness() = default;
  virtual asio::io_context& io() = 0;
  virtual ReplicaUnderTest make() = 0;
  // As after a restart of its process, if the store outlives that.
  virtual void reopen(ReplicaUnderTest& store) = 0;
};
using MakeReplicaHarness = std::function<std::unique_ptr<ReplicaHarness>()>;

class ReplicaContract : public testing::TestWithParam<MakeReplicaHarness> {
 protected:
  static constexpr size_t kMuch = 1 << 20;

  template <typename T>
  T run(asio::awaitable<T> work) {
    return store::run(harness_->io(), std::move(work));
  }
  void ok(asio::awaitable<Status> work) {
    const Status status = run(std::move(work));
    EXPECT_TRUE(status.ok()) << status;
  }
  template <typename T>
  T must(asio::awaitable<Result<T>> work) {
    Result<T> result = run(std::move(work));
    HF_CHECK(result.ok(), result.status().ToString());
    return *std::move(result);
  }
  template <typename T>
  absl::StatusCode code_of(asio::awaitable<Result<T>> work) {
    return run(std::move(work)).status().code();
  }
  absl::StatusCode code_of(asio::awaitable<Status> work) { return run(std::move(work)).code(); }

  Revision commit(ReplicaUnderTest& to, std::vector<Operation> operations) {
    return must(to.store->commit(std::move(operations)));
  }
  std::vector<Item> items(ReplicaUnderTest& of) {
    return must(of.store->range(request(KeyRange{}))).items;
  }
  // Reads a whole copy in small pages.
  std::vector<CopyPage> pages_of(ReplicaUnderTest& from, size_t max_bytes = 1) {
    std::vector<CopyPage> pages;
    do {
      pages.push_back(must(from.replica->read_page(max_bytes)));
    } while (!pages.back().last);
    return pages;
  }
  void copy(ReplicaUnderTest& from, ReplicaUnderTest& to) {
    ok(to.replica->begin_copy(must(from.replica->begin_reading())));
    for (CopyPage& page : pages_of(from)) ok(to.replica->add_to_copy(std::move(page)));
    must(to.replica->finish_copy(from.replica->facts().promised));
  }
  // All that `from` has more.
  std::vector<Entry> news(ReplicaUnderTest& from, ReplicaUnderTest& to) {
    return must(from.replica->entries(to.replica->facts().head.revision, kMuch));
  }
  Head ship(ReplicaUnderTest& from, ReplicaUnderTest& to) {
    return must(to.replica->append(from.replica->facts().promised, news(from, to)));
  }
  void expect_equal(ReplicaUnderTest& one, ReplicaUnderTest& other) {
    EXPECT_EQ(items(one), items(other));
    EXPECT_EQ(one.replica->facts().head, other.replica->facts().head);
    EXPECT_EQ(one.replica->facts().promised, other.replica->facts().promised);
    EXPECT_EQ(must(one.store->range(request(KeyRange{}))).revision,
              must(other.store->range(request(KeyRange{}))).revision);
  }
  // An active store in epoch 1 with two items, and a copy of it.
  void begin_pair() {
    commit(active_, {put("a", "1")});
    ok(active_.replica->begin_tenure(1));
    commit(active_, {put("b", "2")});
    copy(active_, passive_);
  }

  std::unique_ptr<ReplicaHarness> harness_ = GetParam()();
  ReplicaUnderTest active_ = harness_->make();
  ReplicaUnderTest passive_ = harness_->make();
};

}  // namespace holdfast::store
