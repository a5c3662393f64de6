// The contract of replica.h as tests, one suite for every store that keeps it. A test binary
// includes this in one file and instantiates it with a harness (replica_contract_fixture.h).
#pragma once

#include "store/replica_contract_copy.h"
#include "store/replica_contract_fixture.h"
#include "store/replica_contract_log.h"
