// The other half, and a witness, that say anything: to a Half that clients ask, in any order. The
// first byte chooses which half of what mode it is; then each step is a byte that says what it is
// and how much time has passed, and what belongs to it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "ha/half.h"
#include "ha/shipping.h"
#include "ha/wire.h"

namespace holdfast::ha {
namespace {

using namespace std::chrono_literals;

// What a service does with a Half: its disk does everything at once.
class Ours {
 public:
  explicit Ours(uint8_t how)
      : half_({.pair = {.me = static_cast<Member>(how & 1U),
                        .mode = static_cast<Mode>((how >> 1U) % 3)},
               .process = "ours",
               .name = "ours",
               .schema_min = 1,
               .schema_max = 2},
              {.head = {.epoch = 1, .revision = 9, .chain = 1}, .store_id = "A"}, now_) {
    facts_.head = half_.protocol().head();
    facts_.tenures = {{.epoch = 1, .first = 1}};
    carry(half_.start(now_));
  }

  void pass(Duration length) {
    const Time end = now_ + length;
    while (half_.next_deadline() <= end) {
      now_ = std::max(now_, half_.next_deadline());
      carry(half_.on_tick(now_));
    }
    now_ = end;
  }

  // Takes what it needs of `bytes`.
  void step(uint8_t kind, std::string_view& bytes) {
    switch (kind % 8) {
      case 0:
        return hear(take(bytes));
      case 1:
        return carry(half_.on_client(now_).actions);
      case 2:
        return answer(take(bytes));
      case 3:
        return carry(half_.on_link_end(LinkEnd::Refused, now_, now_));
      case 4:
        return replicate(number(bytes));
      case 5:
        return carry(half_.on_acked(facts_.head, "B", now_));
      case 6:
        return carry(half_.on_later_epoch(number(bytes), now_));
      default:
        break;
    }
    if (const auto actions = half_.switch_over(now_); actions.ok()) carry(*actions);
    carry(half_.on_quiet(now_));
  }

  void check() {
    const Protocol& protocol = half_.protocol();
    HF_CHECK(protocol.promised() >= promised_, "what is promised does not go back");
    promised_ = protocol.promised();
    HF_CHECK(!half_.is_active() || protocol.epoch() >= promised_,
             "it is active in what it promised");
    HF_CHECK(!half_.is_active() || active_in(protocol.epoch()) == half_.options().pair.me,
             "it is active in its own epochs");
    HF_CHECK(protocol.promised() <= store::kMaxEpoch + 2, "an epoch that somebody can have");
    const Beat beat = half_.next_beat(now_, facts_);
    HF_CHECK(from_proto(to_proto(beat)).ok() || protocol.promised() > store::kMaxEpoch,
             "what it says can be heard");
    shipping_.on_beat(beat, half_.describe());
    static_cast<void>(half_.problems(now_));
    static_cast<void>(half_.if_active_died(now_));
  }

 private:
  static std::string_view take(std::string_view& bytes) {
    if (bytes.empty()) return {};
    const size_t length = std::min<size_t>(static_cast<uint8_t>(bytes[0]), bytes.size() - 1);
    const std::string_view taken = bytes.substr(1, length);
    bytes.remove_prefix(length + 1);
    return taken;
  }
  static uint64_t number(std::string_view& bytes) {
    uint64_t value = 0;
    for (const char byte : take(bytes).substr(0, 8))
      value = value << 8U | static_cast<uint8_t>(byte);
    return value;
  }

  void hear(std::string_view bytes) {
    v1::Beat beat;
    if (!beat.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    const Result<Beat> heard = from_proto(beat);
    if (!heard.ok()) return;
    carry(half_.on_beat(*heard, now_));
    shipping_.on_beat(*heard, half_.describe());
    const Shipment next = shipping_.next(facts_);
    shipping_.on_answer(next.id, {.head = heard->facts.head}, facts_);
    static_cast<void>(compare({.head = facts_.head, .tenures = facts_.tenures},
                              {.head = heard->facts.head, .tenures = heard->tenures}));
  }
  void answer(std::string_view bytes) {
    v1::WitnessRecord record;
    if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    const Result<Record> known = from_proto(record);
    if (!known.ok()) return;
    const bool accepted = asked_.change && asked_.change->record == *known;
    carry(half_.on_witness(asked_.id, {.accepted = accepted, .current = *known}, now_));
  }
  void replicate(Epoch epoch) {
    HalfActions actions;
    const Status taken = half_.on_replicate(epoch, now_, actions);
    carry(actions);
    if (taken.ok()) carry(half_.on_promised(epoch, now_));
  }
  void carry(const HalfActions& actions) {
    for (const HalfAction& action : actions) {
      if (const auto* ask = std::get_if<AskWitness>(&action)) asked_ = *ask;
      const auto* begin = std::get_if<BeginTenure>(&action);
      if (begin != nullptr) carry(half_.on_tenure(begin->epoch, now_));
    }
  }

  Time now_{std::chrono::hours(1)};
  Half half_;
  Shipping shipping_;
  store::ReplicaFacts facts_;
  AskWitness asked_;
  Epoch promised_ = 0;
};

}  // namespace
}  // namespace holdfast::ha

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  holdfast::ha::Ours ours(static_cast<uint8_t>(bytes[0]));
  bytes.remove_prefix(1);
  for (int steps = 0; !bytes.empty() && steps < 200; ++steps) {
    const auto first = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    ours.pass(std::chrono::milliseconds(10) * (first >> 3U) * (first >> 3U));
    ours.step(first, bytes);
    ours.check();
  }
  return 0;
}
