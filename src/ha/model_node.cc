#include "ha/model_node.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::ha {

// All that matters of the id of the latest question is whether an answer belongs to it.
class ProtocolInspector {
 public:
  static constexpr uint64_t kLatest = 1;
  static bool waits(const Protocol& protocol) { return protocol.wish_ != Protocol::Wish::None; }
  static uint64_t asked(const Protocol& protocol) { return protocol.asked_; }
  static void forget_count(Protocol& protocol) { protocol.asked_ = kLatest; }
};

namespace model {
namespace {

class Reacting {
 public:
  Reacting(const Node& node, const Occasion& occasion, const Options& options)
      : occasion_(occasion), mode_(options.mode), bug_(options.bug), node_(reaction_.node) {
    node_ = node;
  }

  Reaction run() {
    const uint64_t asked_before = node_.protocol ? ProtocolInspector::asked(*node_.protocol) : 0;
    happen();
    if (node_.protocol) {
      reaction_.asks_anew = ProtocolInspector::asked(*node_.protocol) != asked_before;
      ProtocolInspector::forget_count(*node_.protocol);
    }
    if (!node_.is_active()) node_.heard = node_.resumed = false;
    return std::move(reaction_);
  }

 private:
  Protocol& protocol() { return *node_.protocol; }

  void happen() {
    switch (occasion_.input) {
      case Input::Start:
        return start();
      case Input::StartWiped:
        node_.disk = {.generation = 1};
        return start();
      case Input::Crash:
        return crash();
      case Input::Vote:
        return perform(protocol().on_client(false).actions);
      case Input::PeerLost:
        return perform(protocol().on_peer_lost());
      case Input::Retry:
        return perform(protocol().on_retry());
      case Input::Silent:
        return on_silence();
      case Input::Tenure:
        return begin_tenure();
      case Input::TenureThenCrash:
        begin_tenure();
        return crash();
      case Input::Write:
        return write();
      case Input::Beat:
        return send({.kind = Message::Kind::Beat, .facts = protocol().facts()});
      case Input::Ship:
        return send(
            {.kind = Message::Kind::Replicate, .epoch = protocol().epoch(), .log = node_.disk.log});
      case Input::SwitchOver:
        if (protocol().switch_over().ok()) perform(protocol().on_quiet());
        return;
      case Input::Thaw:
        return protocol().thaw();
      case Input::Deliver:
      case Input::DeliverBehind:
        return receive(*occasion_.message);
      case Input::Force:
        return perform(protocol().force());
    }
  }

  void send(Message message) {
    message.half = other(node_.me);
    reaction_.sends.push_back(std::move(message));
  }

  void perform(const Actions& actions) {
    for (const Action& action : actions) {
      if (const auto* begin = std::get_if<BeginTenure>(&action)) {
        if (std::ranges::find(node_.tenures, begin->epoch) == node_.tenures.end()) {
          node_.tenures.push_back(begin->epoch);
        }
        continue;
      }
      const AskWitness& ask = std::get<AskWitness>(action);
      reaction_.sends.push_back(
          {.kind = Message::Kind::Question, .half = node_.me, .change = ask.change});
    }
  }

  void start() {
    if (bug_ == Bug::PromiseLost) node_.disk.promised = 0;
    const uint8_t generation = node_.disk.generation;
    node_.protocol.emplace(
        Protocol::Config{.me = node_.me, .mode = mode_, .forced_leap = kForcedLeap},
        Protocol::Durable{
            .promised = node_.disk.promised,
            .head = node_.disk.log.head(),
            .store_id = store_id(node_.me, bug_ == Bug::StoreIdReused ? 0 : generation),
            .first_of_pair = node_.me == Member::Primary && generation == 0});
    perform(protocol().start());
  }

  void crash() {
    if (bug_ == Bug::AckedBeforeDurable && !node_.is_active()) node_.disk.log.pop();
    node_.protocol.reset();
    node_.tenures.clear();
  }

  void on_silence() {
    const uint64_t id = ProtocolInspector::asked(protocol());
    perform(protocol().on_witness_silent(id));
  }

  // As the store does it, in order.
  void begin_tenure() {
    const Epoch epoch = node_.tenures.front();
    node_.tenures.erase(node_.tenures.begin());
    Epoch& promised = node_.disk.promised;
    if (epoch < promised) return protocol().abandon();
    const bool resumes = epoch == promised;
    promised = epoch;
    perform(protocol().on_tenure(epoch));
    node_.resumed = resumes && bug_ == Bug::RestartTrustsItIsAlone && node_.is_active();
  }

  void write() {
    node_.disk.log.push(protocol().epoch(), occasion_.write);
    protocol().on_written(node_.disk.log.head());
    if (!node_.resumed) return;
    perform(protocol().on_acked(node_.disk.log.head(), store_id(other(node_.me), 0)));
  }

  void receive(const Message& message) {
    switch (message.kind) {
      case Message::Kind::Beat:
        perform(protocol().on_peer(message.facts, true));
        if (node_.is_active()) node_.heard = true;
        return;
      case Message::Kind::Replicate:
        return receive_history(message);
      case Message::Kind::Ack:
        return receive_ack(message);
      case Message::Kind::Answer:
        return perform(protocol().on_witness(ProtocolInspector::asked(protocol()), message.answer));
      case Message::Kind::Question:
        HF_CHECK(false, "questions are for the witness");
    }
  }

  void receive_history(const Message& message) {
    Epoch epoch = message.epoch;
    if (bug_ == Bug::OldEpochTaken && epoch < protocol().promised()) {
      epoch = next_epoch(protocol().promised() - 1, active_in(epoch));
    }
    if (!protocol().on_replicate(epoch).ok()) return;
    if (occasion_.input == Input::DeliverBehind) begin_tenure();
    if (epoch < node_.disk.promised) return;
    take_over(message);
    node_.disk.promised = epoch;
    protocol().on_appended(epoch, node_.disk.log.head());
    if (!message.current) return;
    send({.kind = Message::Kind::Ack,
          .head = node_.disk.log.head(),
          .store = protocol().facts().store_id});
  }

  // Entries that continue, or a whole copy; nothing if it is older than what we have of this epoch.
  void take_over(const Message& message) {
    Log& log = node_.disk.log;
    if (bug_ == Bug::AppendedUnchecked) {
      for (size_t i = log.size(); i < message.log.size(); ++i) {
        log.push(message.log.epoch_at(i), message.log.write_at(i));
      }
      return;
    }
    const bool newer = log.begins_with(message.log) && log.head().epoch >= message.epoch;
    if (!newer || bug_ == Bug::HistoryShortened) log = message.log;
  }

  void receive_ack(const Message& message) {
    if (!node_.disk.log.has_point(message.head)) return;
    const bool too_far = bug_ == Bug::AckedTooFar;
    perform(protocol().on_acked(too_far ? node_.disk.log.head() : message.head, message.store));
  }

  const Occasion& occasion_;
  Mode mode_;
  Bug bug_;
  Reaction reaction_{};
  Node& node_;
};

}  // namespace

bool may_happen(const Node& node, Input input) {
  const bool up = node.protocol.has_value();
  switch (input) {
    case Input::Start:
    case Input::StartWiped:
      return !up;
    case Input::Crash:
    case Input::Beat:
    case Input::Retry:
    case Input::Deliver:
    case Input::Force:
      return up;
    case Input::Vote:
      return up && !node.is_active();
    case Input::PeerLost:
    case Input::SwitchOver:
      return node.is_active();
    case Input::Thaw:
      return node.is_active() && node.protocol->frozen();
    case Input::Ship:
      return node.is_active() && node.heard;
    case Input::Silent:
      return up && ProtocolInspector::waits(*node.protocol);
    case Input::Tenure:
    case Input::TenureThenCrash:
    case Input::DeliverBehind:
      return !node.tenures.empty();
    case Input::Write:
      return up && node.protocol->may_write();
  }
  return false;
}

Reaction react(const Node& node, const Occasion& occasion, const Options& options) {
  return Reacting(node, occasion, options).run();
}

Message answer(const Message& question, Record& record, Bug bug) {
  bool accepted = false;
  if (question.change) {
    RecordChange change = *question.change;
    Record current = record;
    if (bug == Bug::WitnessDoesNotCompare) current.epoch = change.expected;
    if (bug == Bug::WitnessTakesNonMembers) change.force = true;
    accepted = may_replace(current, change).ok();
    if (accepted) record = change.record;
  }
  return {.kind = Message::Kind::Answer,
          .half = question.half,
          .current = question.current,
          .answer = {.accepted = accepted, .current = record}};
}

}  // namespace model
}  // namespace holdfast::ha
