#include "integration/store_writer_run.h"

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

constexpr const char* kWriters = "16";

std::vector<std::string> writer_command(const std::string& store, const std::string& round,
                                        std::vector<std::string> before) {
  before.insert(before.end(), {built("store_writer"), store, kWriters, round});
  return before;
}

}  // namespace

StoreWriterRun::StoreWriterRun(const std::string& store, const std::string& output,
                               const std::string& round, std::vector<std::string> before)
    : output_(output),
      process_(
          {.arguments = writer_command(store, round, std::move(before)), .output_file = output}) {}

WriterOutput StoreWriterRun::output() const {
  WriterOutput said;
  std::ifstream file(output_);
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) break;  // not whole yet
    if (line.starts_with("ack ")) said.acknowledged.insert(line.substr(4));
    if (line.starts_with("error ")) said.errors.insert(line.substr(6));
  }
  return said;
}

std::vector<std::string> lost_writes(const std::string& store,
                                     const std::set<std::string>& acknowledged) {
  boost::asio::io_context loop;
  auto opened = store::SqliteStore::open(loop.get_executor(), {.path = store});
  EXPECT_TRUE(opened.ok()) << opened.status();
  if (!opened.ok()) return {acknowledged.begin(), acknowledged.end()};
  const auto all = store::run(loop, (*opened)->range(store::request(store::prefix_range("/"))));
  EXPECT_TRUE(all.ok()) << all.status();
  std::set<std::string> present;
  for (const store::Item& item : all->items) {
    EXPECT_EQ(item.value, item.key + std::string(200, '.'));
    present.insert(item.key);
  }
  std::vector<std::string> lost;
  std::ranges::set_difference(acknowledged, present, std::back_inserter(lost));
  return lost;
}

}  // namespace holdfast::test
