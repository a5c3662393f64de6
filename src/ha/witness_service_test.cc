// The witness on a real disk: what it accepts it has, also after a restart.
#include "ha/witness_service.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "ha/record_loader.h"
#include "ha/wire.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::ha {
namespace {

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

}  // namespace
}  // namespace holdfast::ha
