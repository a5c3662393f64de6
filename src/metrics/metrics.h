// Counters, gauges and histograms, and their text for Prometheus: a thin layer over prometheus-cpp
// that checks names and bounds how many series a peer can create. There is no global registry: what
// counts receives a Registry& and keeps handles. Serving the text is the caller's affair.
//
//   Family<Counter>& opened = registry.counter({.name = "holdfast_opened_connections_total",
//                                               .help = "Connections opened."});
//   Counter from_a = opened.with({{"src_zone", "a"}});  // once: a lookup under a lock
//   from_a.add();                                       // often: one atomic addition
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::metrics {

using Labels = std::map<std::string, std::string>;

// Handles: one pointer, copied freely, usable from any thread, valid as long as their registry.

template <typename Handle>
class Family;

class Counter {
 public:
  using Native = prometheus::Counter;
  explicit Counter(Native& native) : native_(&native) {}
  // Requires: amount >= 0.
  void add(double amount = 1);
  double value() const { return native_->Value(); }

 private:
  template <typename Handle>
  friend class Family;
  Native* native_;
};

class Gauge {
 public:
  using Native = prometheus::Gauge;
  explicit Gauge(Native& native) : native_(&native) {}
  void set(double value) { native_->Set(value); }
  void add(double amount) { native_->Increment(amount); }  // may be negative
  double value() const { return native_->Value(); }

 private:
  template <typename Handle>
  friend class Family;
  Native* native_;
};

class Histogram {
 public:
  using Native = prometheus::Histogram;
  explicit Histogram(Native& native) : native_(&native) {}
  void observe(double value) { native_->Observe(value); }

 private:
  template <typename Handle>
  friend class Family;
  Native* native_;
};

struct Options {
  std::string version = {};      // of the program, shown in holdfast_build_info
  size_t max_series = 500;       // per family
  size_t max_value_bytes = 256;  // of a label's value; the rest is cut
};

struct Description {
  std::string name;  // holdfast_ and words, in base units; a counter's ends in _total
  std::string help;  // one sentence
};

// One metric name and its series, one per set of label values. Made and owned by its registry.
template <typename Handle>
class Family {
 public:
  // The series with these labels, made if it is new. A full family answers with one shared handle
  // that is not exported, and counts the request in holdfast_metrics_series_dropped_total{family}.
  // Values may be any bytes (see names.h). Requires: every call names the same labels.
  Handle with(const Labels& labels = {});
  // The series is not shown any more; if it comes back it starts anew. Its handles must not be used
  // again. Nothing happens if there is none.
  void remove(const Labels& labels);

 private:
  friend class Registry;
  using Native = typename Handle::Native;
  using DroppedFamily = prometheus::Family<prometheus::Counter>;

  Family(const Description& description, std::vector<double> bounds, const Options& options,
         DroppedFamily& dropped);
  Handle make(const Labels& labels);
  Labels printable(const Labels& labels) const;

  const Description description_;
  const std::vector<double> bounds_;  // of a histogram's buckets
  const Options& options_;
  DroppedFamily& dropped_;
  prometheus::Family<Native> native_;
  std::unique_ptr<Native> overflow_;
  std::mutex mutex_;  // guards series_
  std::map<Labels, Handle> series_;
};

class Registry {
 public:
  explicit Registry(Options options);

  // Asking again for a name gives the same family. Requires: a name that validate_name() accepts,
  // each time with the same type, help and bounds.
  Family<Counter>& counter(const Description& description);
  Family<Gauge>& gauge(const Description& description);
  // `bounds` are the upper ends of the buckets, finite and rising; one above them all is implied.
  Family<Histogram>& histogram(const Description& description, std::vector<double> bounds);

  // Every series in Prometheus's text format 0.0.4, in order of name and labels.
  std::string expose() const;

 private:
  template <typename Handle>
  using Owned = std::unique_ptr<Family<Handle>>;
  using AnyFamily = std::variant<Owned<Counter>, Owned<Gauge>, Owned<Histogram>>;

  template <typename Handle>
  Family<Handle>& find_or_make(const Description& description, std::vector<double> bounds);

  const Options options_;
  prometheus::Family<prometheus::Counter> dropped_;
  mutable std::mutex mutex_;  // guards families_
  std::map<std::string, AnyFamily> families_;
};

}  // namespace holdfast::metrics
