// The witness on a real disk: what it accepts it has, also after a restart.
#include "ha/witness_service.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>

#include "base/reason.h"
#include "ha/record_loader.h"
#include "ha/wire.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

// No file of this process may grow: as good as a disk that takes nothing.
class FullDisk {
 public:
  FullDisk() : former_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit none{.rlim_cur = 0, .rlim_max = former_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &former_);
    std::signal(SIGXFSZ, former_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*former_handler_)(int);
  rlimit former_{};
};

class WitnessDisk : public testing::Test {
 protected:
  static RecordChange first(const std::string& id) {
    return {.expected = 0,
            .record = {.epoch = 1, .in_sync = Members::of(Member::Primary), .store_ids = {id, ""}}};
  }
  Result<v1::ChangeRecordResponse> change(WitnessService& witness, const RecordChange& wanted) {
    return store::run(io_, witness.change(to_proto(wanted)));
  }
  std::unique_ptr<WitnessService> open() {
    Result<std::unique_ptr<WitnessService>> opened =
        WitnessService::open(io_.get_executor(), dir_.file("witness.record"));
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  asio::io_context io_;
  test::TempDir dir_;
};

TEST_F(WitnessDisk, WhatItAcceptedIsThereAfterARestart) {
  const auto changed = change(*open(), first(std::string(64, 'a')));
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(changed->accepted());
  EXPECT_EQ(open()->record(), first(std::string(64, 'a')).record);
}

// One that it could not read again would be its last.
TEST_F(WitnessDisk, ARecordThatDoesNotFitIsRefusedAndItGoesOn) {
  const std::unique_ptr<WitnessService> witness = open();
  for (const size_t length : {size_t{65}, kMaxWords}) {
    const auto changed = change(*witness, first(std::string(length, 'a')));
    EXPECT_EQ(changed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(split_reason(changed.status()).code, "HF4203");
  }
  EXPECT_EQ(witness->stats().refused, 2U);
  EXPECT_EQ(open()->record().epoch, 0U);
  EXPECT_TRUE(change(*witness, first("a")).ok());
}

TEST_F(WitnessDisk, ADiskThatTakesNoRecordIsSaidUntilItTakesOne) {
  const std::unique_ptr<WitnessService> witness = open();
  ASSERT_TRUE(change(*witness, first("a")).ok());
  EXPECT_TRUE(witness->disk().ok());
  std::optional<FullDisk> full(std::in_place);

  RecordChange next = first("a");
  next.expected = 1;
  next.record.epoch = 3;
  const auto failed = change(*witness, next);

  EXPECT_EQ(split_reason(failed.status()).code, "HF4205");
  EXPECT_EQ(split_reason(witness->disk()).code, "HF4205");
  const auto found = store::run(io_, witness->read());
  ASSERT_TRUE(found.ok()) << "it still knows what its record is: " << found.status();
  EXPECT_EQ(found->epoch(), 1U);
  EXPECT_EQ(split_reason(witness->disk()).code, "HF4205") << "to read is not to write";

  full.reset();
  ASSERT_TRUE(store::run(io_, witness->read()).ok());
  EXPECT_TRUE(witness->disk().ok()) << witness->disk();
  EXPECT_EQ(open()->record(), first("a").record) << "nothing else was written";
  ASSERT_TRUE(change(*witness, next).ok());
  EXPECT_EQ(open()->record(), next.record);
}

}  // namespace
}  // namespace holdfast::ha
