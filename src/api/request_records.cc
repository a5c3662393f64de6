#include "api/request_records.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <openssl/sha.h>

#include "api/request_id.h"
#include "base/reason.h"

namespace holdfast::api {
namespace {

// The same bytes for the same message: maps are written in order of their keys.
std::string canonical_bytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();  // else the bytes have their length only once `out` is gone
  return bytes;
}

std::string sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace

Result<MarkedRequest> mark_request(const Caller& caller, std::string_view verb, std::string id,
                                   const google::protobuf::Message& request) {
  if (id.empty()) return MarkedRequest();
  if (!is_request_id(id)) {
    return absl::InvalidArgumentError(fmt::format(
        "request_id: {} to {} letters, digits, '-' and '_'", kMinRequestId, kMaxRequestId));
  }
  const std::string actor = identity::to_string(caller.identity);
  // Lengths keep the parts apart.
  const std::string whole =
      fmt::format("{}:{}{}:{}{}", actor.size(), actor, verb.size(), verb, canonical_bytes(request));
  return MarkedRequest{.id = std::move(id), .digest = sha256(whole)};
}

asio::awaitable<Result<std::optional<store::Revision>>> RequestRecords::find(
    MarkedRequest& request) {
  request.looked_up = clock_.now();
  request.looked_up_wall = clock_.wall_now();
  const Result<store::Item> record =
      co_await store_.get(fmt::format("{}{}", kRequestPrefix, request.id));
  if (absl::IsNotFound(record.status())) co_return std::optional<store::Revision>();
  CO_TRY_OK(record.status());
  if (record->value == request.digest) co_return std::optional(record->revision);
  co_return coded(absl::StatusCode::kInvalidArgument, "HF6024",
                  "request_id: it was used for another request");
}

// A machine that was suspended is noticed by the wall clock, one whose clock was set back by the
// other.
Result<store::Operation> RequestRecords::record_of(const MarkedRequest& request) const {
  const bool too_late = clock_.now() - request.looked_up > kMaxCommitDelay ||
                        clock_.wall_now() - request.looked_up_wall > kMaxCommitDelay;
  if (too_late) return absl::UnavailableError("the write took too long; repeat it");
  store::Operation put;
  put.key = fmt::format("{}{}", kRequestPrefix, request.id);
  put.value = request.digest;
  put.precondition = store::Precondition::Absent;
  put.expires = clock_.wall_now() + std::chrono::duration_cast<WallTime::duration>(kRequestMemory);
  return put;
}

}  // namespace holdfast::api
