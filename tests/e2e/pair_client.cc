#include "e2e/pair_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/reason.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

v1::Resource register_of(const std::string& key, const std::string& value) {
  v1::Resource resource;
  resource.set_kind("service");
  resource.mutable_metadata()->set_name(key);
  resource.mutable_metadata()->set_description(value);
  v1::ServicePort& port = *resource.mutable_service()->add_ports();
  port.set_port(80);
  port.set_protocol(v1::PROTOCOL_TCP);
  return resource;
}

// Said before anything was done: not active, nobody is, the caller knows a later epoch, the lease
// is over, the limits.
bool says_not_done(const Status& status) {
  constexpr std::array<std::string_view, 4> kCodes = {"HF4101", "HF4105", "HF4107", "HF4301"};
  return std::ranges::count(kCodes, split_reason(status).code) > 0;
}

}  // namespace

Ending ending_of(Act act, const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Ending::Ok;
    case absl::StatusCode::kNotFound:
      return act == Act::Read || act == Act::Remove ? Ending::Ok : Ending::Failed;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return Ending::Failed;
    default:
      return says_not_done(status) ? Ending::Failed : Ending::Unknown;
  }
}

PairClient::PairClient(PairClientOptions options, PairDoor& door, PairHistory& history)
    : options_(std::move(options)),
      door_(door),
      history_(history),
      rng_(options_.seed ^ std::hash<std::string>()(options_.prefix)),
      thread_([this] { work(); }) {}

PairClient::~PairClient() {
  stop();
}

void PairClient::stop() {
  finish();
  if (thread_.joinable()) thread_.join();
}

void PairClient::work() {
  while (running_) {
    const std::string key = register_name(rng_.below(options_.registers));
    const uint64_t dice = rng_.below(uint64_t{20});
    if (dice < 9) read(key);
    if (dice >= 9 && dice < 16) write(key);
    if (dice >= 16 && dice < 19) replace(key);
    if (dice == 19) remove(key);
    let_pass(options_.pause / 2 + rng_.below(options_.pause));
  }
}

void PairClient::read_all() {
  for (size_t i = 0; i < options_.registers; ++i) read(register_name(i));
}

std::string PairClient::register_name(size_t number) const {
  return fmt::format("{}r{}", options_.prefix, number);
}

PairClient::Found PairClient::read(const std::string& key) {
  v1::GetRequest request;
  request.set_kind("service");
  request.set_name(key);
  RegisterCall call = begin(key, Act::Read);
  const DoorAnswer answer = door_.get(request);
  if (answer.status.ok()) call.value = answer.resource.metadata().description();
  const Found found{.value = call.value, .revision = answer.resource.metadata().revision()};
  note(std::move(call), answer.status, answer.epoch);
  return found;
}

void PairClient::write(const std::string& key) {
  RegisterCall call = begin(key, Act::Write);
  call.value = next_value();
  v1::WriteRequest request;
  *request.mutable_resource() = register_of(key, call.value);
  request.set_request_id(request_id());
  const DoorAnswer answer = door_.write(PairDoor::Write::Upsert, request);
  note(std::move(call), answer.status, answer.epoch);
}

void PairClient::replace(const std::string& key) {
  const Found found = read(key);
  if (found.value.empty()) return;
  RegisterCall call = begin(key, Act::CompareAndSet);
  call.expected = found.value;
  call.value = next_value();
  v1::WriteRequest request;
  *request.mutable_resource() = register_of(key, call.value);
  request.mutable_resource()->mutable_metadata()->set_revision(found.revision);
  request.set_request_id(request_id());
  const DoorAnswer answer = door_.write(PairDoor::Write::Update, request);
  note(std::move(call), answer.status, answer.epoch);
}

void PairClient::remove(const std::string& key) {
  RegisterCall call = begin(key, Act::Remove);
  v1::DeleteRequest request;
  request.set_kind("service");
  request.set_name(key);
  request.set_request_id(request_id());
  const Status status = door_.remove(request);
  // It was not there: all it did was to look.
  if (status.code() == absl::StatusCode::kNotFound) call.act = Act::Read;
  note(std::move(call), status, 0);
}

std::string PairClient::next_value() {
  return fmt::format("{}-{}", options_.name, ++written_);
}

std::string PairClient::request_id() {
  return fmt::format("{:016x}{:016x}", rng_.next(), rng_.next());
}

RegisterCall PairClient::begin(const std::string& key, Act act) const {
  return {.client = options_.name, .key = key, .act = act, .called = clock_.now()};
}

void PairClient::note(RegisterCall call, const Status& status, uint64_t epoch) {
  call.returned = clock_.now();
  call.ending = ending_of(call.act, status);
  const bool good = call.ending == Ending::Ok;
  if (good && epoch > 0) {
    history_.add(EpochSighting{
        .half = options_.half, .epoch = epoch, .called = call.called, .returned = call.returned});
  }
  if (good) ++succeeded_;
  const bool lost_a_race =
      status.code() == absl::StatusCode::kAborted || status.code() == absl::StatusCode::kNotFound;
  if (!good && !lost_a_race) {
    ++failed_;
    const std::lock_guard lock(mutex_);
    last_failure_ = status.ToString();
  }
  history_.add(std::move(call));
}

std::string PairClient::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

}  // namespace holdfast::test
