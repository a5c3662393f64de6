#include "store/etcd_txn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::store {
namespace {

using etcdserverpb::Compare;
using testing::HasSubstr;

Operation etcd_operation(Operation::Type type, std::string key, Precondition precondition,
                         Revision revision = 0) {
  Operation result;
  result.type = type;
  result.key = std::move(key);
  result.precondition = precondition;
  result.revision = revision;
  return result;
}

Operation etcd_put(std::string key, Precondition precondition = Precondition::None,
                   Revision revision = 0) {
  return etcd_operation(Operation::Type::Put, std::move(key), precondition, revision);
}

EtcdCommit commit_of(std::vector<Operation> operations) {
  EtcdCommit commit;
  commit.operations = std::move(operations);
  commit.write_id = "id-1";
  return commit;
}

const EtcdKeys kKeys("/holdfast");

// An answer of etcd to a refused transaction: the revisions of the keys looked at, 0 for absent.
etcdserverpb::TxnResponse refused(const std::vector<Revision>& found) {
  etcdserverpb::TxnResponse response;
  for (const Revision revision : found) {
    auto& range = *response.add_responses()->mutable_response_range();
    if (revision != 0) range.add_kvs()->set_mod_revision(revision);
  }
  return response;
}

TEST(EncodeCommit, PutsCarryValueWriteIdLeaseAndExpiry) {
  EtcdCommit commit = commit_of({etcd_put("a")});
  commit.operations[0].value = "v";
  commit.operations[0].expires = WallTime(std::chrono::milliseconds(5000));
  commit.leases = {77};

  const auto txn = encode_commit(kKeys, commit);

  ASSERT_EQ(txn.success_size(), 1);
  const auto& sent = txn.success(0).request_put();
  EXPECT_EQ(sent.key(), "/holdfast/a");
  EXPECT_EQ(sent.lease(), 77);
  etcdserverpb::HoldfastValue value;
  ASSERT_TRUE(value.ParseFromString(sent.value()));
  EXPECT_EQ(value.value(), "v");
  EXPECT_EQ(value.write_id(), "id-1");
  EXPECT_EQ(value.expires_unix_ms(), 5000);
  EXPECT_EQ(txn.compare_size() + txn.failure_size(), 0);
}

TEST(EncodeCommit, EachPreconditionIsACompareAndALook) {
  const auto txn = encode_commit(
      kKeys, commit_of({etcd_put("absent", Precondition::Absent),
                        etcd_put("present", Precondition::Present),
                        etcd_put("at", Precondition::Revision, 9),
                        etcd_operation(Operation::Type::Check, "check", Precondition::Present),
                        etcd_operation(Operation::Type::Delete, "delete", Precondition::None)}));

  ASSERT_EQ(txn.compare_size(), 4);
  EXPECT_EQ(txn.failure_size(), 4);
  EXPECT_EQ(txn.success_size(), 4) << "a check writes nothing";
  EXPECT_EQ(txn.compare(0).target(), Compare::CREATE);
  EXPECT_EQ(txn.compare(0).result(), Compare::EQUAL);
  EXPECT_EQ(txn.compare(1).result(), Compare::GREATER);
  EXPECT_EQ(txn.compare(2).target(), Compare::MOD);
  EXPECT_EQ(txn.compare(2).mod_revision(), 9);
  EXPECT_EQ(txn.success(3).request_delete_range().key(), "/holdfast/delete");
}

TEST(EncodeCommit, RevisionZeroNeverHolds) {
  const auto txn = encode_commit(kKeys, commit_of({etcd_put("a", Precondition::Revision, 0)}));

  EXPECT_LT(txn.compare(0).mod_revision(), 0);
}

TEST(EncodeCommit, TheFenceIsComparedLast) {
  EtcdCommit commit = commit_of({etcd_put("a", Precondition::Absent)});
  commit.fence = EtcdFence{.key = "fence", .revision = 5};

  const auto txn = encode_commit(kKeys, commit);

  ASSERT_EQ(txn.compare_size(), 2);
  EXPECT_EQ(txn.compare(1).key(), "fence");
  EXPECT_EQ(txn.compare(1).mod_revision(), 5);
  EXPECT_EQ(txn.failure(1).request_range().key(), "fence");
}

TEST(CanFence, NeedsRoomForOneMoreCompare) {
  std::vector<Operation> operations(kEtcdMaxOperations, etcd_put("a", Precondition::Absent));
  EXPECT_FALSE(can_fence(operations));

  operations.back().precondition = Precondition::None;

  EXPECT_TRUE(can_fence(operations));
}

TEST(DecodeCommit, SuccessIsTheRevision) {
  etcdserverpb::TxnResponse response;
  response.set_succeeded(true);
  response.mutable_header()->set_revision(12);

  const auto answer = decode_commit(commit_of({etcd_put("a")}), response);

  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(std::get<Revision>(*answer), 12);
}

TEST(DecodeCommit, TheFirstFailedPreconditionIsNamed) {
  const EtcdCommit commit = commit_of({etcd_put("fine", Precondition::Absent), etcd_put("free"),
                                       etcd_put("late", Precondition::Revision, 3),
                                       etcd_put("gone", Precondition::Present)});

  const auto answer = decode_commit(commit, refused({0, 4, 0}));

  EXPECT_EQ(answer.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("\"late\""));
}

TEST(DecodeCommit, EachPreconditionHasItsCode) {
  const auto code = [](Operation operation, Revision found) {
    return decode_commit(commit_of({operation}), refused({found})).status().code();
  };

  EXPECT_EQ(code(etcd_put("a", Precondition::Absent), 3), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(code(etcd_put("a", Precondition::Present), 0), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(etcd_put("a", Precondition::Revision, 3), 0), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(etcd_put("a", Precondition::Revision, 0), 0), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(etcd_put("a", Precondition::Revision, 3), 4), absl::StatusCode::kAborted);
}

TEST(DecodeCommit, AMovedFenceSaysNothingAboutPreconditions) {
  EtcdCommit commit = commit_of({etcd_put("a", Precondition::Absent)});
  commit.fence = EtcdFence{.key = "fence", .revision = 5};

  const auto answer = decode_commit(commit, refused({3, 8}));

  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(std::get<FenceMoved>(*answer).revision, 8);
}

TEST(DecodeCommit, AnswersThatMakeNoSenseAreDataLoss) {
  const EtcdCommit commit = commit_of({etcd_put("a", Precondition::Absent)});
  auto two_pairs = refused({3});
  two_pairs.mutable_responses(0)->mutable_response_range()->add_kvs();

  for (const auto& response : {refused({}), refused({0}), two_pairs}) {
    EXPECT_EQ(decode_commit(commit, response).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(DecodeItem, RefusesWhatHoldfastDidNotWrite) {
  etcdserverpb::KeyValue pair;
  pair.set_key("/other/a");
  EXPECT_EQ(decode_item(kKeys, pair).status().code(), absl::StatusCode::kDataLoss);

  pair.set_key("/holdfast/a");
  pair.set_value("\xff");
  EXPECT_EQ(decode_item(kKeys, pair).status().code(), absl::StatusCode::kDataLoss);

  etcdserverpb::HoldfastValue value;
  value.set_expires_unix_ms(-1);
  pair.set_value(value.SerializeAsString());
  EXPECT_EQ(decode_item(kKeys, pair).status().code(), absl::StatusCode::kDataLoss);
}

TEST(DecodeItem, GivesBackWhatWasEncoded) {
  EtcdCommit commit = commit_of({etcd_put("a")});
  commit.operations[0].value = std::string("\0v", 2);
  commit.operations[0].expires = WallTime(std::chrono::milliseconds(5000));
  const auto txn = encode_commit(kKeys, commit);
  etcdserverpb::KeyValue pair;
  pair.set_key(txn.success(0).request_put().key());
  pair.set_value(txn.success(0).request_put().value());
  pair.set_create_revision(3);
  pair.set_mod_revision(4);

  const auto item = decode_item(kKeys, pair);

  ASSERT_TRUE(item.ok()) << item.status();
  Item expected;
  expected.key = "a";
  expected.value = std::string("\0v", 2);
  expected.revision = 4;
  expected.created_revision = 3;
  expected.expires = WallTime(std::chrono::milliseconds(5000));
  EXPECT_EQ(*item, expected);
}

}  // namespace
}  // namespace holdfast::store
