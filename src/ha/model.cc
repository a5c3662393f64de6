#include "ha/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace holdfast::ha::model {

std::string_view to_string(Bug bug) {
  constexpr std::array<std::string_view, 14> kNames = {"None",
                                                       "OldEpochTaken",
                                                       "AckedBeforeDurable",
                                                       "AckedTooFar",
                                                       "FakeSuccess",
                                                       "OldAnswers",
                                                       "WitnessDoesNotCompare",
                                                       "WitnessForgets",
                                                       "WitnessTakesNonMembers",
                                                       "PromiseLost",
                                                       "AppendedUnchecked",
                                                       "HistoryShortened",
                                                       "StoreIdReused",
                                                       "RestartTrustsItIsAlone"};
  return kNames.at(static_cast<size_t>(bug));
}

void Log::push(Epoch epoch, uint8_t write) {
  HF_CHECK(size_ < kMax && epoch < 64, "the model's histories are short");
  entries_.at(size_) = static_cast<uint8_t>(epoch << 2U | write);
  size_ += 1;
}

void Log::pop() {
  if (size_ == 0) return;
  size_ -= 1;
  entries_.at(size_) = 0;
}

Head Log::head() const {
  return {.epoch = size_ == 0 ? 0 : epoch_at(size_ - 1U),
          .revision = store::kFirstRevision + size_};
}

bool Log::has(uint8_t write) const {
  for (size_t i = 0; i < size_; ++i) {
    if (write_at(i) == write) return true;
  }
  return false;
}

bool Log::has_point(const Head& head) const {
  const size_t length = head.revision - store::kFirstRevision;
  if (length > size_) return false;
  return length == 0 || epoch_at(length - 1) == head.epoch;
}

bool Log::begins_with(const Log& other) const {
  return other.size_ <= size_ &&
         std::equal(other.entries_.begin(), other.entries_.begin() + other.size_, entries_.begin());
}

std::string store_id(Member member, uint8_t generation) {
  return fmt::format("{}{}", member == Member::Primary ? 'p' : 'b', generation);
}

namespace {

std::string members(Members members) {
  if (members == Members::both()) return "both";
  return members.has(Member::Primary) ? "primary" : members.has(Member::Backup) ? "backup" : "none";
}

}  // namespace

std::string describe(const Message& message) {
  const std::string_view half = to_string(message.half);
  switch (message.kind) {
    case Message::Kind::Beat:
      return fmt::format("the beat {} (promised {}, history {}.{}, record {}) to the {}",
                         to_string(message.facts.state), message.facts.promised,
                         message.facts.head.epoch, message.facts.head.revision,
                         message.facts.record.epoch, half);
    case Message::Kind::Replicate:
      return fmt::format("history of epoch {} up to {}.{} to the {}", message.epoch,
                         message.log.head().epoch, message.log.head().revision, half);
    case Message::Kind::Ack:
      return fmt::format("the acknowledgement of {}.{} by disk {} to the {}", message.head.epoch,
                         message.head.revision, message.store, half);
    case Message::Kind::Question:
      if (!message.change) return fmt::format("the question of the {} for the record", half);
      return fmt::format("the wish of the {} for {} -> {} with {}", half, message.change->expected,
                         message.change->record.epoch, members(message.change->record.in_sync));
    case Message::Kind::Answer:
      return fmt::format("the answer '{}, {} with {}' to the {}",
                         message.answer.accepted ? "accepted" : "as it is",
                         message.answer.current.epoch, members(message.answer.current.in_sync),
                         half);
  }
  return {};
}

}  // namespace holdfast::ha::model
