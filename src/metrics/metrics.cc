#include "metrics/metrics.h"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "metrics/names.h"

namespace holdfast::metrics {
namespace {

template <typename Handle>
constexpr Type type_of() {
  if constexpr (std::is_same_v<Handle, Counter>) return Type::Counter;
  if constexpr (std::is_same_v<Handle, Gauge>) return Type::Gauge;
  return Type::Histogram;
}

void check_ok(const Status& status) {
  HF_CHECK(status.ok(), std::string_view(status.message().data(), status.message().size()));
}

bool finite_and_rising(const std::vector<double>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [](double at) { return std::isfinite(at); }) &&
         std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
}

bool same_names(const Labels& a, const Labels& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

}  // namespace

void Counter::add(double amount) {
  HF_CHECK(amount >= 0, "a counter only rises");
  native_->Increment(amount);
}

template <typename Handle>
Family<Handle>::Family(const Description& description, std::vector<double> bounds,
                       const Options& options, DroppedFamily& dropped)
    : description_(description),
      bounds_(std::move(bounds)),
      options_(options),
      dropped_(dropped),
      native_(description.name, description.help, {}) {
  if constexpr (std::is_same_v<Handle, Histogram>) {
    overflow_ = std::make_unique<Native>(bounds_);
  } else {
    overflow_ = std::make_unique<Native>();
  }
}

template <typename Handle>
Labels Family<Handle>::printable(const Labels& labels) const {
  Labels values;
  for (const auto& [name, value] : labels) {
    values.emplace(name, printable_label_value(value, options_.max_value_bytes));
  }
  return values;
}

template <typename Handle>
Handle Family<Handle>::with(const Labels& labels) {
  const Labels values = printable(labels);
  const std::lock_guard lock(mutex_);
  if (const auto found = series_.find(values); found != series_.end()) return found->second;
  HF_CHECK(series_.empty() || same_names(values, series_.begin()->first),
           fmt::format("every series of {} has the same label names", description_.name));
  if (series_.size() >= options_.max_series) {
    dropped_.Add({{"family", description_.name}}).Increment();
    return Handle(*overflow_);
  }
  return series_.emplace(values, make(values)).first->second;
}

template <typename Handle>
void Family<Handle>::remove(const Labels& labels) {
  const Labels values = printable(labels);
  const std::lock_guard lock(mutex_);
  const auto found = series_.find(values);
  if (found == series_.end()) return;
  native_.Remove(found->second.native_);
  series_.erase(found);
}

template <typename Handle>
Handle Family<Handle>::make(const Labels& labels) {
  for (const auto& [name, value] : labels) check_ok(validate_label_name(name));
  if constexpr (std::is_same_v<Handle, Histogram>) {
    return Handle(native_.Add(labels, bounds_));
  } else {
    return Handle(native_.Add(labels));
  }
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

Registry::Registry(Options options)
    : options_(std::move(options)),
      dropped_("holdfast_metrics_series_dropped_total",
               "Requests for a series that a full family refused, by family.", {}) {
  gauge({.name = "holdfast_build_info", .help = "The running program; its value is always 1."})
      .with({{"version", options_.version}})
      .set(1);
}

Family<Counter>& Registry::counter(const Description& description) {
  return find_or_make<Counter>(description, {});
}

Family<Gauge>& Registry::gauge(const Description& description) {
  return find_or_make<Gauge>(description, {});
}

Family<Histogram>& Registry::histogram(const Description& description, std::vector<double> bounds) {
  HF_CHECK(finite_and_rising(bounds), "the bounds of a histogram are finite and rising");
  return find_or_make<Histogram>(description, std::move(bounds));
}

template <typename Handle>
Family<Handle>& Registry::find_or_make(const Description& description, std::vector<double> bounds) {
  check_ok(validate_name(type_of<Handle>(), description.name));
  HF_CHECK(description.name != dropped_.GetName(), "the registry's own name is taken");
  const std::lock_guard lock(mutex_);
  auto found = families_.find(description.name);
  if (found == families_.end()) {
    Owned<Handle> made(new Family<Handle>(description, std::move(bounds), options_, dropped_));
    found = families_.emplace(description.name, std::move(made)).first;
    return *std::get<Owned<Handle>>(found->second);
  }
  const auto* family = std::get_if<Owned<Handle>>(&found->second);
  HF_CHECK(family != nullptr, fmt::format("{} always has one type", description.name));
  HF_CHECK((*family)->description_.help == description.help && (*family)->bounds_ == bounds,
           fmt::format("{} always has the same help and bounds", description.name));
  return **family;
}

std::string Registry::expose() const {
  std::vector<prometheus::MetricFamily> page = dropped_.Collect();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, any] : families_) {
      std::visit(
          [&](const auto& family) {
            std::ranges::move(family->native_.Collect(), std::back_inserter(page));
          },
          any);
    }
  }
  std::ranges::sort(page, {}, &prometheus::MetricFamily::name);
  for (prometheus::MetricFamily& family : page) {
    std::ranges::sort(family.metric, std::less<>(), &prometheus::ClientMetric::label);
  }
  return prometheus::TextSerializer().Serialize(page);
}

}  // namespace holdfast::metrics
