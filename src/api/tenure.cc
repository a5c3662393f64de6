#include "api/tenure.h"

#include "base/check.h"

namespace holdfast::api {
namespace {

using store::Operation;
using store::Precondition;

// At the revision that was seen, or absent as it was seen.
Operation put(std::string_view key, const std::string& value, store::Revision seen) {
  Operation operation;
  operation.key = std::string(key);
  operation.value = value;
  operation.precondition = seen == 0 ? Precondition::Absent : Precondition::Revision;
  operation.revision = seen;
  return operation;
}

}  // namespace

void Tenure::saw(const Seen& seen, Time asked_at) {
  const bool changed = seen.taken != taken_ || seen.beat != beat_ || !unchanged_;
  certain_ = true;
  ours_ = ours_ && seen.taken == taken_;
  taken_ = seen.taken;
  beat_ = seen.beat;
  // A holder that said goodbye took its beat with it.
  holder_ = seen.beat == 0 ? std::string() : seen.holder;
  if (changed) unchanged_ = asked_at;
}

std::vector<Operation> Tenure::take(Time now) const {
  const bool free = beat_ == 0 || (unchanged_ && now - *unchanged_ >= options_.ttl);
  if (ours_ || !certain_ || !unchanged_ || !free) return {};
  return {put(kTasksKey, options_.name, taken_), put(kTasksBeatKey, options_.name, beat_)};
}

std::vector<Operation> Tenure::renewal() const {
  HF_CHECK(ours(), "only a holder renews");
  return {check(), put(kTasksBeatKey, options_.name, beat_)};
}

std::vector<Operation> Tenure::release() const {
  HF_CHECK(ours(), "only a holder gives up");
  Operation gone;
  gone.type = Operation::Type::Delete;
  gone.key = std::string(kTasksBeatKey);
  return {check(), std::move(gone)};
}

void Tenure::took(store::Revision revision, Time asked_at) {
  ours_ = true;
  taken_ = revision;
  holder_ = options_.name;
  renewed(revision, asked_at);
}

void Tenure::renewed(store::Revision revision, Time asked_at) {
  beat_ = revision;
  renewed_at_ = asked_at;
  unchanged_ = asked_at;
}

bool Tenure::held(Time now) const {
  return ours() && now - renewed_at_ < options_.ttl * 2 / 3;
}

Operation Tenure::check() const {
  Operation check;
  check.type = Operation::Type::Check;
  check.key = std::string(kTasksKey);
  check.precondition = Precondition::Revision;
  check.revision = taken_;
  return check;
}

}  // namespace holdfast::api
