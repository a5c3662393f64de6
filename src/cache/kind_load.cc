#include "cache/kind_load.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "resource/registry.h"

namespace holdfast::cache {
namespace {

// A server may look at many resources and show none of them on a page, but not for ever.
constexpr size_t kMaxEmptyPages = 10'000;

}  // namespace

bool apply_change(Table& table, const Coverage* pages, const Change& change) {
  if (pages != nullptr && change.revision <= pages->at(change.name)) return false;
  const v1::Resource* known = table.find(change.name);
  if (known != nullptr && change.revision <= known->metadata().revision()) return false;
  if (change.put != nullptr) {
    table.put(change.put);
  } else {
    table.erase(change.name);
  }
  return true;
}

Status KindLoad::add_page(v1::ListResponse page) {
  HF_CHECK(!done_, "a listing ends with its last page");
  int64_t revision = page.page_revision() != 0 ? page.page_revision() : page.revision();
  if (revision == 0) revision = limits_.not_before;
  if (revision < limits_.not_before) {
    return absl::UnavailableError(fmt::format(
        "the server is behind: its page is of revision {}, and {} has been seen already", revision,
        limits_.not_before));
  }
  if (!page.next_page_token().empty() && page.next_page_token() == next_page_token_) {
    return absl::DataLossError("the server sends the same page again and again");
  }
  const std::string first = page.resources().empty() ? "" : page.resources(0).metadata().name();
  TRY_OK(add_items(page));
  TRY_OK(add_coverage(page, first, revision));
  next_page_token_ = std::move(*page.mutable_next_page_token());
  if (next_page_token_.empty()) finish();
  return absl::OkStatus();
}

Status KindLoad::add_items(v1::ListResponse& page) {
  for (v1::Resource& item : *page.mutable_resources()) {
    const std::string& name = item.metadata().name();
    if (item.kind() != resource::info(kind_).name) {
      return absl::DataLossError(
          fmt::format("{} {} is listed among others", in_quotes(item.kind()), in_quotes(name)));
    }
    if (name <= last_name_) {
      return absl::DataLossError(
          fmt::format("{} is listed after {}", in_quotes(name), in_quotes(last_name_)));
    }
    if (items_.table.size() >= limits_.max_items) {
      return absl::ResourceExhaustedError(
          fmt::format("more than {} resources of one kind", limits_.max_items));
    }
    last_name_ = name;
    items_.table.put(std::make_shared<const v1::Resource>(std::move(item)));
  }
  return absl::OkStatus();
}

Status KindLoad::add_coverage(const v1::ListResponse& page, const std::string& first,
                              int64_t revision) {
  const bool empty = first.empty();
  if (page.next_page_token().empty()) {
    items_.coverage.add_last(first, revision);
    return absl::OkStatus();
  }
  if (empty && ++empty_pages_ > kMaxEmptyPages) {
    return absl::DataLossError("the server sends empty pages again and again");
  }
  if (page.up_to().empty() && empty) {
    items_.coverage.add_empty(revision);
    return absl::OkStatus();
  }
  if (!page.up_to().empty() && page.up_to() < last_name_) {
    return absl::DataLossError(fmt::format("{} is listed on a page up to {}", in_quotes(last_name_),
                                           in_quotes(page.up_to())));
  }
  const bool exact = !page.up_to().empty();
  if (exact) last_name_ = page.up_to();
  items_.coverage.add(empty ? last_name_ : first, last_name_, revision, exact);
  return absl::OkStatus();
}

void KindLoad::add_nothing() {
  items_ = {};
  items_.coverage.add_last("", limits_.not_before);
  finish();
}

bool KindLoad::hold(Change change) {
  if (done_) {
    apply(change);
    return true;
  }
  if (held_.size() >= limits_.max_held_events) return false;
  held_.push_back(std::move(change));
  return true;
}

void KindLoad::apply(const Change& change) {
  (apply_change(items_.table, &items_.coverage, change) ? applied_ : skipped_) += 1;
}

void KindLoad::finish() {
  done_ = true;
  for (const Change& change : held_) apply(change);
  held_ = {};
}

Items KindLoad::take() {
  HF_CHECK(done_, "a load is taken when it is whole");
  return std::move(items_);
}

}  // namespace holdfast::cache
