// When what a lost history took away is taken away again.
#include "api/revocation_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/check.h"
#include "ha/quarantine_loader.h"
#include "resource/registry.h"
#include "store/memory_store.h"
#include "support/temp_dir.h"

namespace holdfast::api {
namespace {

using resource::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

class RevocationTest : public testing::Test {
 protected:
  RevocationTest() {
    HF_CHECK(run(store_.begin_tenure(1)).ok(), "the lost history begins");
    put(store_, "somebody");
    store::Change removed{.type = store::Change::Type::Delete, .item = {.key = key_}};
    removed.item.revision = store_.facts().head.revision + 1;
    const ha::QuarantineHeader header{
        .node = "ctl-a", .fork = 1, .head = store_.facts().head, .winner = 2, .acknowledged = true};
    const ha::Quarantine lost =
        ha::make_quarantine(header, {{.head = store_.facts().head, .changes = {removed}}});
    const Result<std::string> saved = ha::save_quarantine(folder_, lost.header, ha::to_text(lost));
    HF_CHECK(saved.ok(), saved.status().ToString());
    file_ = *saved;
  }

  template <typename T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(loop_, std::move(work), [&](const std::exception_ptr& thrown, T got) {
      HF_CHECK(thrown == nullptr, "nothing is thrown");
      result = std::move(got);
    });
    loop_.restart();
    loop_.run();
    return *std::move(result);
  }
  void look() {
    run([](RevocationService& service) -> asio::awaitable<bool> {
      co_await service.look();
      co_return true;
    }(service_));
  }
  void put(store::Store& store, const std::string& user) {
    std::vector<store::Operation> operations(1);
    operations[0].key = resource::store_key(Kind::User, user);
    operations[0].value = resource::make_resource(Kind::User, user).SerializeAsString();
    HF_CHECK(run(store.commit(std::move(operations))).ok(), "written");
  }
  // The other half's history, in which nobody was taken away, replaces this one's.
  void take_copy() {
    store::MemoryStore winner(loop_.get_executor(), {.store_id = std::string(32, '1')});
    HF_CHECK(run(winner.begin_tenure(2)).ok(), "it begins");
    put(winner, "admin");
    const Result<store::ReplicaFacts> facts = run(winner.begin_reading());
    HF_CHECK(run(store_.begin_copy(*facts)).ok(), "a copy begins");
    for (bool last = false; !last;) {
      const Result<store::CopyPage> page = run(winner.read_page(1 << 20));
      last = page->last;
      HF_CHECK(run(store_.add_to_copy(*page)).ok(), "a page is taken");
    }
    HF_CHECK(run(store_.finish_copy(2)).ok(), "the copy is taken in");
  }

  asio::io_context loop_;
  test::TempDir temp_;
  std::string folder_ = temp_.file("divergence");
  std::string file_;
  std::string key_ = resource::store_key(Kind::User, "admin");
  store::MemoryStore store_{loop_.get_executor(), {}};
  asio::thread_pool worker_{1};
  std::vector<std::string> removed_;
  RevocationService service_{
      {.reads = store_,
       .replica = store_,
       .write = [this](store::Operation operation) -> asio::awaitable<Status> {
         removed_.push_back(operation.key);
         co_return absl::OkStatus();
       },
       .worker = worker_,
       .folder = folder_}};
};

// While the copy is on its way the store shows the lost history, where the user is gone already:
// to take that for the pair's state would leave the user its rights for good.
TEST_F(RevocationTest, IsDecidedByTheHistoryThatThePairKept) {
  look();
  EXPECT_FALSE(ha::is_gone_through(folder_, file_));
  EXPECT_THAT(removed_, IsEmpty());

  take_copy();
  look();

  EXPECT_THAT(removed_, ElementsAre(key_));
  EXPECT_TRUE(ha::is_gone_through(folder_, file_));
}

}  // namespace
}  // namespace holdfast::api
