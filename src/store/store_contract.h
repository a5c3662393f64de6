// The contract of store.h as tests, one suite for every implementation. A test binary includes this
// in one file and instantiates it with a harness (store_contract_fixture.h):
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
//                            testing::Values([] { return std::make_unique<MemoryHarness>(); }));
#pragma once

#include "store/store_contract_commit.h"
#include "store/store_contract_expiry.h"
#include "store/store_contract_fixture.h"
#include "store/store_contract_range.h"
#include "store/store_contract_watch.h"
