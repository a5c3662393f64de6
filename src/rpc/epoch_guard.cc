#include "rpc/epoch_guard.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/reason.h"

namespace holdfast::rpc {
namespace {

constexpr std::string_view kEpoch = "epoch ";
constexpr std::string_view kCluster = "cluster ";

// Takes the line that begins so from the text; nothing if it is another.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view begin) {
  const size_t end = text.find('\n');
  if (!text.starts_with(begin) || end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(begin.size(), end - begin.size());
  text.remove_prefix(end + 1);
  return rest;
}

std::optional<uint64_t> epoch_from(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

EpochGuard::Verdict EpochGuard::judge(uint64_t epoch) const {
  if (epoch < highest_) return Verdict::Over;
  return epoch == highest_ ? Verdict::Known : Verdict::Rises;
}

void EpochGuard::raise(uint64_t epoch) {
  HF_CHECK(epoch > highest_, "epochs rise");
  highest_ = epoch;
}

Status EpochGuard::refuse(uint64_t epoch) {
  refused_ += 1;
  const std::string said =
      epoch == 0 ? "it speaks without an epoch" : fmt::format("it speaks for epoch {}", epoch);
  return coded(absl::StatusCode::kUnavailable, "HF4302",
               fmt::format("the controller's time is over: {}, and this node has seen epoch {}",
                           said, highest_));
}

std::string to_text(const KeptEpoch& kept) {
  return fmt::format("{}{}\n{}{}\n", kCluster, kept.cluster, kEpoch, kept.epoch);
}

Result<KeptEpoch> parse_kept_epoch(std::string_view text) {
  const auto cluster = take_line(text, kCluster);
  const auto epoch = take_line(text, kEpoch);
  const auto value = epoch ? epoch_from(*epoch) : std::nullopt;
  if (!cluster || !value || !text.empty()) {
    return coded(absl::StatusCode::kDataLoss, "HF4303", "it is no epoch that a node wrote");
  }
  return KeptEpoch{.cluster = std::string(*cluster), .epoch = *value};
}

}  // namespace holdfast::rpc
