#include "integration/store_follower_run.h"

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <sstream>
#include <tuple>

#include "integration/store_followed.h"
#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

std::vector<std::string> command(const std::string& store, store::Epoch epoch,
                                 std::vector<std::string> before) {
  before.insert(before.end(), {built("store_follower"), store, std::to_string(epoch)});
  return before;
}

// The history of head.epoch up to head.revision.
std::unique_ptr<store::MemoryStore> history_up_to(boost::asio::io_context& loop,
                                                  const store::Head& head) {
  auto history =
      std::make_unique<store::MemoryStore>(loop.get_executor(), store::MemoryStoreOptions{});
  HF_CHECK(store::run(loop, begin_followed(*history, head.epoch)).ok(), "memory does not fail");
  while (history->facts().head.revision < head.revision) {
    HF_CHECK(store::run(loop, advance_followed(*history)).ok(), "memory does not fail");
  }
  return history;
}

}  // namespace

StoreFollowerRun::StoreFollowerRun(const std::string& store, const std::string& output,
                                   store::Epoch epoch, std::vector<std::string> before)
    : output_(output),
      process_({.arguments = command(store, epoch, std::move(before)), .output_file = output}) {}

FollowerOutput StoreFollowerRun::output() const {
  FollowerOutput said;
  std::ifstream file(output_);
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) break;  // not whole yet
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "ack") {
      words >> said.acknowledged.epoch >> said.acknowledged.revision;
      said.acknowledgements += 1;
    }
    if (word == "page") said.pages += 1;
    if (word == "copied") said.copies += 1;
    if (word == "error") said.errors.insert(line.substr(6));
    if (word == "broken") said.broken.push_back(line);
  }
  return said;
}

std::string fault_of_follower(const std::string& store, const store::Head& acknowledged) {
  boost::asio::io_context loop;
  auto opened = store::SqliteStore::open(loop.get_executor(), {.path = store});
  if (!opened.ok()) return opened.status().ToString();
  const store::Head head = (*opened)->facts().head;
  if (std::tie(head.epoch, head.revision) < std::tie(acknowledged.epoch, acknowledged.revision)) {
    return "it ends at revision " + std::to_string(head.revision) + ", acknowledged was " +
           std::to_string(acknowledged.revision);
  }
  if (head.epoch == 0) return "";
  const auto expected = history_up_to(loop, head);
  if (expected->facts().head != head) return "its chain is another";
  const auto all = store::request(store::prefix_range("/"));
  const auto ours = store::run(loop, (*opened)->range(all));
  const auto theirs = store::run(loop, expected->range(all));
  if (!ours.ok()) return ours.status().ToString();
  return ours->items == theirs->items ? "" : "its items are others";
}

}  // namespace holdfast::test
