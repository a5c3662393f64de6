// The store contract: reading one key, and commits with their preconditions and limits.
#pragma once

#include "store/store_contract_fixture.h"

namespace holdfast::store {

using absl::StatusCode;
using testing::HasSubstr;

TEST_P(StoreContract, AKeyThatWasNeverWrittenIsNotFound) {
  const auto item = get("nowhere");

  EXPECT_EQ(item.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(item.status().message()), HasSubstr("nowhere"));
}

TEST_P(StoreContract, WhatWasPutIsRead) {
  const Revision revision = commit({put("a", "1")});

  const auto item = get("a");

  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->key, "a");
  EXPECT_EQ(item->value, "1");
  EXPECT_EQ(item->revision, revision);
  EXPECT_EQ(item->created_revision, revision);
  EXPECT_EQ(item->expires, std::nullopt);
}

TEST_P(StoreContract, APutReplacesTheValueAndKeepsTheCreation) {
  const Revision created = commit({put("a", "1")});
  const Revision replaced = commit({put("a", "2", Precondition::Present)});

  const auto item = get("a");

  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->value, "2");
  EXPECT_EQ(item->revision, replaced);
  EXPECT_EQ(item->created_revision, created);
}

TEST_P(StoreContract, EachCommitTakesOneRevision) {
  const Revision first = commit({put("a", "1")});

  EXPECT_EQ(first, origin() + 1);
  EXPECT_EQ(commit({put("b", "1")}), first + 1);
  EXPECT_EQ(commit({put("a", "1")}), first + 2) << "the same value is a change as well";
  EXPECT_EQ(commit({erase("b")}), first + 3);
}

TEST_P(StoreContract, CreatingTwiceFailsAndNamesTheKey) {
  commit({put("a", "1", Precondition::Absent)});

  const auto second = try_commit({put("a", "2", Precondition::Absent)});

  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("\"a\""));
  EXPECT_EQ(get("a")->value, "1");
}

TEST_P(StoreContract, UpdatingAnAbsentKeyIsNotFound) {
  const auto update = try_commit({put("a", "1", Precondition::Present)});

  EXPECT_EQ(update.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(update.status().message()), HasSubstr("\"a\""));
  EXPECT_FALSE(get("a").ok());
}

TEST_P(StoreContract, ComparingWithTheRightRevisionWrites) {
  const Revision first = commit({put("a", "1")});

  const Revision second = commit({put("a", "2", Precondition::Revision, first)});

  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(get("a")->value, "2");
}

TEST_P(StoreContract, ComparingWithAnOldRevisionAborts) {
  const Revision first = commit({put("a", "1")});
  commit({put("a", "2")});

  const auto late = try_commit({put("a", "3", Precondition::Revision, first)});

  EXPECT_EQ(late.status().code(), StatusCode::kAborted);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("\"a\""));
  EXPECT_EQ(get("a")->value, "2");
}

TEST_P(StoreContract, ComparingAnAbsentKeyIsNotFound) {
  EXPECT_EQ(code_of({put("a", "1", Precondition::Revision, 1)}), StatusCode::kNotFound);
  EXPECT_EQ(code_of({put("a", "1", Precondition::Revision, 0)}), StatusCode::kNotFound);
  EXPECT_FALSE(get("a").ok());
}

TEST_P(StoreContract, DeletedKeysAreGone) {
  commit({put("a", "1"), put("b", "1")});

  commit({erase("a")});

  EXPECT_EQ(get("a").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(get("b").ok());
}

TEST_P(StoreContract, DeletingAnAbsentKeyIsNoChange) {
  const Revision before = commit({put("a", "1")});

  EXPECT_EQ(commit({erase("b")}), before);
  EXPECT_EQ(commit({put("a", "2"), erase("b")}), before + 1);
}

TEST_P(StoreContract, DeletesKeepTheirPreconditions) {
  const Revision first = commit({put("a", "1")});
  const Revision second = commit({put("a", "2")});

  EXPECT_EQ(code_of({erase("b", Precondition::Present)}), StatusCode::kNotFound);
  EXPECT_EQ(code_of({erase("a", Precondition::Absent)}), StatusCode::kAlreadyExists);
  EXPECT_EQ(code_of({erase("a", Precondition::Revision, first)}), StatusCode::kAborted);
  EXPECT_EQ(commit({erase("a", Precondition::Revision, second)}), second + 1);
}

TEST_P(StoreContract, AChecksPreconditionDecidesAndWritesNothing) {
  const Revision first = commit({put("lock", "mine")});

  EXPECT_EQ(commit({check("lock", Precondition::Revision, first)}), first);
  EXPECT_EQ(commit({check("lock", Precondition::Present), put("a", "1")}), first + 1);
  EXPECT_EQ(code_of({check("lock", Precondition::Absent), put("a", "2")}),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(get("a")->value, "1");
  EXPECT_EQ(get("lock")->revision, first);
}

TEST_P(StoreContract, ACommitOfManyOperationsHasOneRevision) {
  commit({put("old", "1")});

  const Revision revision = commit({put("a", "1"), erase("old"), put("b", "2")});

  EXPECT_EQ(get("a")->revision, revision);
  EXPECT_EQ(get("b")->revision, revision);
  EXPECT_FALSE(get("old").ok());
}

TEST_P(StoreContract, ACommitWithOneFailedPreconditionChangesNothing) {
  const Revision before = commit({put("kept", "1")});

  const auto failed =
      try_commit({put("a", "1"), erase("kept"), put("missing", "1", Precondition::Present),
                  put("b", "1", Precondition::Absent)});

  EXPECT_EQ(failed.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("\"missing\""));
  EXPECT_THAT(keys_of(range(KeyRange{})->items), testing::ElementsAre("kept"));
  EXPECT_EQ(range(KeyRange{})->revision, before);
}

TEST_P(StoreContract, TheLargestCommitIsAccepted) {
  const size_t most = harness_->limits().max_operations;
  std::vector<Operation> operations;
  for (size_t i = 0; i < most; ++i) {
    operations.push_back(put("key" + std::to_string(i), "v", Precondition::Absent));
  }

  const Revision revision = commit(operations);
  operations.push_back(put("one too many", ""));

  EXPECT_EQ(range(prefix_range("key"))->items.size(), most);
  EXPECT_EQ(get("key0")->revision, revision);
  EXPECT_EQ(code_of(operations), StatusCode::kInvalidArgument);
}

TEST_P(StoreContract, ValuesAtTheLimitAreKeptAndAboveItRefused) {
  const Limits limits = harness_->limits();
  const std::string largest(limits.max_value_bytes, '\xee');
  const std::string longest(limits.max_key_bytes, 'k');

  commit({put(longest, largest)});
  commit({put("empty", "")});

  EXPECT_TRUE(get(longest)->value == largest);
  EXPECT_EQ(get("empty")->value, "");
  EXPECT_EQ(code_of({put("a", largest + "x")}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({put(longest + "k", "")}), StatusCode::kInvalidArgument);
}

TEST_P(StoreContract, InvalidCommitsAreRefused) {
  EXPECT_EQ(code_of({}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({put("", "1")}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({put(std::string("a\0b", 3), "1")}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of({put("a", "1"), erase("a")}), StatusCode::kInvalidArgument);
  EXPECT_EQ(range(KeyRange{})->revision, origin());
}

TEST_P(StoreContract, KeysAndValuesMayHoldUnusualBytes) {
  const std::vector<std::string> keys = {"\x01", " ",        "%",        "'\"\\", "/",       "//a",
                                         "_",    "\x7f\x80", "\xc3\xa4", "\xff",  "\xff\xff"};
  std::vector<Operation> operations;
  for (const std::string& key : keys) operations.push_back(put(key, std::string("\0", 1) + key));

  commit(operations);

  EXPECT_EQ(keys_of(range(KeyRange{})->items), keys) << "ordered by unsigned bytes";
  for (const std::string& key : keys) {
    EXPECT_EQ(get(key)->value, std::string("\0", 1) + key);
  }
}

TEST_P(StoreContract, ARecreatedKeyIsNotItsFormerSelf) {
  const Revision former = commit({put("a", "1")});
  commit({erase("a")});
  const Revision again = commit({put("a", "1", Precondition::Absent)});

  EXPECT_EQ(get("a")->created_revision, again);
  EXPECT_EQ(code_of({put("a", "2", Precondition::Revision, former)}), StatusCode::kAborted);
}

// Reads the counter and writes it one higher until that succeeds; how often it was beaten to it.
inline asio::awaitable<int> increment(Store& store, std::string key) {
  for (int beaten = 0;; ++beaten) {
    const auto item = co_await store.get(key);
    HF_CHECK(item.ok(), item.status().ToString());
    const std::string higher = std::to_string(std::stoi(item->value) + 1);
    std::vector<Operation> operations = {put(key, higher, Precondition::Revision, item->revision)};
    const auto revision = co_await store.commit(std::move(operations));
    if (revision.ok()) co_return beaten;
    HF_CHECK(absl::IsAborted(revision.status()), revision.status().ToString());
  }
}

TEST_P(StoreContract, ConcurrentIncrementsAreAllCounted) {
  constexpr int kWriters = 50;
  const Revision start = commit({put("counter", "0")});
  int done = 0;
  for (int i = 0; i < kWriters; ++i) {
    asio::co_spawn(harness_->io(), increment(store(), "counter"),
                   [&done](std::exception_ptr, int) { done += 1; });
  }

  const auto watch = open_watch(prefix_range("counter"), start);
  const std::vector<Change> seen = collect(*watch, kWriters);
  while (done < kWriters) harness_->io().run_one();

  EXPECT_EQ(get("counter")->value, std::to_string(kWriters));
  ASSERT_EQ(seen.size(), size_t{kWriters});
  for (int i = 0; i < kWriters; ++i) {
    EXPECT_EQ(seen[i].item.value, std::to_string(i + 1));
    EXPECT_EQ(seen[i].item.revision, start + i + 1);
  }
}

}  // namespace holdfast::store
