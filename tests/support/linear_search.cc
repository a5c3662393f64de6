#include "support/linear_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace holdfast::test {

LinearSearch::LinearSearch(const std::vector<RegisterCall>& calls, Beginning beginning)
    : content_(beginning == Beginning::Nothing ? kNothing : kAnything) {
  number_values(calls);
  std::erase_if(steps_, [](const Step& step) {
    return step.ending == Ending::Failed || (step.act == Act::Read && step.ending != Ending::Ok);
  });
  forget_what_nobody_saw();
  end_what_was_seen();
  const auto is_open = [](const Step& step) { return step.ending == Ending::Unknown; };
  std::ranges::sort(steps_, {},
                    [&](const Step& step) { return std::pair(is_open(step), step.called); });
  closed_ = static_cast<size_t>(std::ranges::find_if(steps_, is_open) - steps_.begin());
  needs_.resize(values_);
  makers_.resize(values_);
  done_.resize(steps_.size(), true);
  for (uint32_t i = 0; i < steps_.size(); ++i) set_done(i, false);
}

void LinearSearch::set_done(uint32_t step, bool done) {
  const Step& changed = steps_[step];
  const uint32_t by = done ? UINT32_MAX : 1;  // one less, or one more
  const bool reads = changed.act == Act::Read;
  const bool compares = changed.act == Act::CompareAndSet;
  done_[step] = done;
  if (changed.ending == Ending::Refused) return;
  if (!reads) makers_[changed.value] += by;
  if (reads) needs_[changed.value] += by;
  if (compares && changed.ending == Ending::Ok) needs_[changed.expected] += by;
}

bool LinearSearch::leaves_someone_behind(const Step& step) const {
  if (content_ == kAnything || makers_[content_] > 0) return false;
  const bool served = step.act == Act::CompareAndSet && step.ending == Ending::Ok;
  return needs_[content_] > (served ? 1 : 0);
}

void LinearSearch::number_values(const std::vector<RegisterCall>& calls) {
  std::map<std::string, Content> numbers = {{"", kNothing}};
  const auto number = [&](const std::string& value) {
    const auto [found, is_new] = numbers.try_emplace(value, values_);
    if (is_new) ++values_;
    return found->second;
  };
  for (const RegisterCall& call : calls) {
    steps_.push_back({.act = call.act,
                      .ending = call.ending,
                      .value = call.act == Act::Remove ? kNothing : number(call.value),
                      .expected = number(call.expected),
                      .called = call.called,
                      .returned = call.returned});
  }
}

// A write of unknown end whose value nobody met may as well not have been: whatever came after it
// only wrote, too. Unless someone was refused, which it might be the reason for.
void LinearSearch::forget_what_nobody_saw() {
  std::vector<bool> met(values_);
  for (const Step& step : steps_) {
    if (step.ending == Ending::Refused) return;
    if (step.act == Act::Read) met[step.value] = true;
    if (step.act == Act::CompareAndSet) met[step.expected] = true;
  }
  std::erase_if(steps_, [&](const Step& step) {
    return step.ending == Ending::Unknown && step.value >= kFirstValue && !met[step.value];
  });
}

// A write of unknown end is over when the first that met its value is, if no other wrote the same.
void LinearSearch::end_what_was_seen() {
  std::vector<Time> met(values_, Time::max());
  for (const Step& step : steps_) {
    if (step.ending != Ending::Ok) continue;
    const bool reads = step.act == Act::Read;
    if (!reads && step.act != Act::CompareAndSet) continue;
    Time& first = met[reads ? step.value : step.expected];
    first = std::min(first, step.returned);
  }
  for (Step& step : steps_) {
    const bool open = step.ending == Ending::Unknown && step.value >= kFirstValue;
    if (!open || met[step.value] == Time::max() || writers_of(step.value) != 1) continue;
    step.ending = Ending::Ok;
    step.returned = std::max(met[step.value], step.called);
  }
}

size_t LinearSearch::writers_of(Content value) const {
  return static_cast<size_t>(std::ranges::count_if(
      steps_, [&](const Step& step) { return step.act != Act::Read && step.value == value; }));
}

LinearSearch::Content LinearSearch::apply(const Step& step, Content content) {
  const bool anything = content == kAnything;
  switch (step.act) {
    case Act::Read:
      return anything || content == step.value ? step.value : kImpossible;
    case Act::Write:
    case Act::Remove:
      return step.value;
    case Act::CompareAndSet:
      break;
  }
  const bool fits = anything || content == step.expected;
  if (step.ending == Ending::Refused) return anything || !fits ? content : kImpossible;
  if (step.ending == Ending::Unknown) return fits ? step.value : content;
  return fits ? step.value : kImpossible;
}

// Whoever began before all that are not done have ended; the one that ends first is tried first,
// those that may never end come last. If one changes nothing and fits, it alone: it is in nobody's
// way.
std::vector<uint32_t> LinearSearch::candidates() const {
  Time earliest_end = Time::max();
  std::vector<uint32_t> found;
  for (size_t i = first_open_; i < closed_ && steps_[i].called <= earliest_end; ++i) {
    if (done_[i]) continue;
    earliest_end = std::min(earliest_end, steps_[i].returned);
    found.push_back(static_cast<uint32_t>(i));
    const bool looks = steps_[i].act == Act::Read || steps_[i].ending == Ending::Refused;
    if (looks && apply(steps_[i], content_) == content_) return {found.back()};
  }
  std::ranges::sort(found, std::greater(), [&](uint32_t i) { return steps_[i].returned; });
  std::vector<uint32_t> all;
  for (size_t i = closed_; i < steps_.size() && steps_[i].called <= earliest_end; ++i) {
    if (!done_[i]) all.push_back(static_cast<uint32_t>(i));
  }
  all.insert(all.end(), found.begin(), found.end());
  return all;
}

// What is done beyond the first that is not, and what is there: the rest follows.
bool LinearSearch::seen_before() {
  std::string place;
  const auto add = [&](uint32_t number) {
    place.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  add(content_);
  add(static_cast<uint32_t>(first_open_));
  // Whoever was given a place before it began before it ended.
  const Time reach = steps_[first_open_].returned;
  for (size_t i = first_open_; i < closed_ && steps_[i].called <= reach; ++i) {
    if (done_[i]) add(static_cast<uint32_t>(i));
  }
  for (size_t i = closed_; i < steps_.size(); ++i) {
    if (done_[i]) add(static_cast<uint32_t>(i));
  }
  return !been_.insert(std::move(place)).second;
}

bool LinearSearch::advance(std::vector<uint32_t> alternatives) {
  while (!alternatives.empty()) {
    const uint32_t chosen = alternatives.back();
    alternatives.pop_back();
    const Content after = apply(steps_[chosen], content_);
    if (after == kImpossible || (after != content_ && leaves_someone_behind(steps_[chosen])))
      continue;
    frames_.push_back({.before = content_,
                       .first_open_before = first_open_,
                       .chosen = chosen,
                       .alternatives = std::move(alternatives)});
    content_ = after;
    set_done(chosen, true);
    while (first_open_ < closed_ && done_[first_open_]) ++first_open_;
    return true;
  }
  return false;
}

bool LinearSearch::go_back() {
  while (!frames_.empty()) {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    content_ = frame.before;
    first_open_ = frame.first_open_before;
    set_done(frame.chosen, false);
    if (advance(std::move(frame.alternatives))) return true;
  }
  return false;
}

Verdict::Kind LinearSearch::run(uint64_t steps) {
  for (uint64_t step = 0; step < steps; ++step) {
    if (all_done()) return Verdict::Kind::Linearizable;
    const bool on = !seen_before() && advance(candidates());
    if (!on && !go_back()) return Verdict::Kind::Broken;
  }
  return Verdict::Kind::Undecided;
}

}  // namespace holdfast::test
