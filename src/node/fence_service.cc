#include "node/fence_service.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/reason.h"

namespace holdfast::node {

Result<rpc::KeptEpoch> load_epoch(const std::string& path, std::string cluster) {
  rpc::KeptEpoch kept{.cluster = std::move(cluster)};
  const Result<std::string> text = read_small_file(path);
  if (absl::IsNotFound(text.status())) return kept;
  const Result<rpc::KeptEpoch> found =
      text.ok() ? rpc::parse_kept_epoch(*text) : Result<rpc::KeptEpoch>(text.status());
  if (!found.ok()) {
    return coded(absl::StatusCode::kDataLoss, "HF4303",
                 fmt::format("{} cannot be read: {}", in_quotes(path, 256),
                             split_reason(found.status()).message));
  }
  if (found->cluster == kept.cluster) kept.epoch = found->epoch;
  return kept;
}

FenceService::FenceService(std::string path, rpc::KeptEpoch kept)
    : path_(std::move(path)), cluster_(std::move(kept.cluster)), guard_(kept.epoch) {}

rpc::Fence FenceService::hooks() {
  return {.highest = [this] { return highest(); },
          .admit = [this](uint64_t epoch) { return admit(epoch); }};
}

Status FenceService::admit(uint64_t epoch) {
  switch (guard_.judge(epoch)) {
    case rpc::EpochGuard::Verdict::Known:
      last_ = absl::OkStatus();
      break;
    case rpc::EpochGuard::Verdict::Rises:
      last_ = keep(epoch);
      break;
    case rpc::EpochGuard::Verdict::Over: {
      const bool first = last_.ok();
      last_ = guard_.refuse(epoch);
      if (first) log::warn("a controller is not obeyed", {{"why", std::string(last_.message())}});
      break;
    }
  }
  return last_;
}

// On the loop, as new certificates are: it is a few bytes, and happens when controllers change.
Status FenceService::keep(uint64_t epoch) {
  const Status kept =
      path_.empty()
          ? absl::OkStatus()
          : write_lasting_file(path_, rpc::to_text({.cluster = cluster_, .epoch = epoch}));
  if (!kept.ok()) {
    return coded(absl::StatusCode::kUnavailable, "HF4304",
                 fmt::format("epoch {} cannot be kept: {}", epoch, std::string(kept.message())));
  }
  log::info("a new epoch of the controllers", {{"epoch", epoch}, {"before", guard_.highest()}});
  guard_.raise(epoch);
  return absl::OkStatus();
}

}  // namespace holdfast::node
