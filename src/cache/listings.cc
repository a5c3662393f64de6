#include "cache/listings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "resource/field_path.h"

namespace holdfast::cache {
namespace {

constexpr size_t kMaxRetired = 16;

const std::string& listed_name(const v1::Resource* resource) {
  return resource->metadata().name();
}

bool labels_match(const v1::Resource& resource,
                  const google::protobuf::Map<std::string, std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = resource.metadata().labels().find(label.first);
    return found != resource.metadata().labels().end() && found->second == label.second;
  });
}

}  // namespace

Result<Listings::Position> Listings::parse(const std::string& token) {
  Position position;
  if (token.empty()) return position;
  const char* end = token.data() + token.size();
  const auto [rest, error] = std::from_chars(token.data(), end, position.revision);
  if (error != std::errc() || rest == end || *rest != ':' || rest + 1 == end) {
    return absl::InvalidArgumentError("page_token: not one this cache gave out");
  }
  position.last_name.assign(rest + 1, end);
  return position;
}

Listings::Listing* Listings::find(const KindView& view, resource::Kind kind,
                                  const Position& position) {
  std::vector<Listing>& kept = kept_[static_cast<size_t>(kind)];
  if (!position.last_name.empty()) {
    const auto same = std::ranges::find_if(
        kept, [&](const Listing& one) { return one.view.revision == position.revision; });
    if (same != kept.end()) return &*same;
  }
  const auto same = std::ranges::find_if(kept, [&](const Listing& one) {
    return one.view.revision == view.revision && one.view.generation == view.generation &&
           one.view.ahead == view.ahead;
  });
  return same == kept.end() ? nullptr : &*same;
}

Listings::Listing& Listings::listing_for(const KindView& view, resource::Kind kind,
                                         const Position& position) {
  if (Listing* known = find(view, kind, position)) return *known;
  std::vector<Listing>& kept = kept_[static_cast<size_t>(kind)];
  make_room(kept);
  Listing& made = kept.emplace_back(Listing{.view = view, .sorted = {}});
  made.sorted.reserve(made.view.items.size());
  made.view.items.for_each([&](const Shared& resource) {
    made.sorted.push_back(resource.get());
    return true;
  });
  std::ranges::sort(made.sorted, {}, listed_name);
  return made;
}

void Listings::make_room(std::vector<Listing>& kept) {
  if (kept.size() < options_.max_kept) return;
  const auto oldest = std::ranges::min_element(
      kept, {}, [](const Listing& one) { return std::pair(one.has_more, one.used); });
  if (oldest->has_more) dropped_ += 1;
  retire(std::move(*oldest));
  kept.erase(oldest);
}

// A large table is freed a slice at a time, between other work; those that wait for it are few.
void Listings::retire(Listing listing) {
  listing.sorted = {};
  retired_.push_back(std::move(listing));
  if (retired_.size() > kMaxRetired) retired_.pop_front();
}

bool Listings::reclaim(size_t budget) {
  while (!retired_.empty() && retired_.front().view.items.dismantle(budget)) retired_.pop_front();
  return retired_.empty();
}

// With what follows `after`, until the page is full or the revision it tells of ends.
void Listings::fill(v1::ListResponse& response, const Listing& listing, const Asked& asked,
                    const std::string& after) const {
  const uint32_t wanted =
      asked.request.page_size() == 0 ? options_.default_page_size : asked.request.page_size();
  const auto page_size = static_cast<int>(std::min(wanted, options_.max_page_size));
  const Told told = told_after(listing.view, after);
  response.set_page_revision(told.revision);
  response.set_up_to(told.up_to);
  auto is_full = [&, bytes = size_t{0}](const v1::Resource& added) mutable {
    bytes += added.ByteSizeLong();
    return response.resources_size() >= page_size || bytes >= options_.max_page_bytes;
  };
  auto next = std::ranges::upper_bound(listing.sorted, after, {}, listed_name);
  for (; next != listing.sorted.end(); ++next) {
    if (!told.up_to.empty() && listed_name(*next) > told.up_to) return;
    if (!labels_match(**next, asked.request.labels())) continue;
    *response.add_resources() = asked.hide_secrets ? resource::without_secrets(**next) : **next;
    if (!is_full(**next)) continue;
    const bool more = next + 1 != listing.sorted.end();
    if (more) response.set_up_to(listed_name(*next));
    return;
  }
}

Result<v1::ListResponse> Listings::page(const KindView& view, const Asked& asked, Time now) {
  TRY(const Position position, parse(asked.request.page_token()));
  Listing& listing = listing_for(view, asked.kind, position);
  listing.used = now;
  v1::ListResponse response;
  response.set_revision(position.last_name.empty() ? listing.view.revision : position.revision);
  fill(response, listing, asked, position.last_name);
  if (!response.up_to().empty()) {
    response.set_next_page_token(fmt::format("{}:{}", response.revision(), response.up_to()));
  }
  listing.has_more = !response.up_to().empty();
  return response;
}

void Listings::on_tick(Time now) {
  for (std::vector<Listing>& kept : kept_) {
    const auto old = std::ranges::partition(
        kept, [&](const Listing& one) { return one.used + options_.keep > now; });
    for (Listing& one : old) retire(std::move(one));
    kept.erase(old.begin(), old.end());
  }
}

size_t Listings::size() const {
  size_t all = 0;
  for (const std::vector<Listing>& kept : kept_) all += kept.size();
  return all;
}

}  // namespace holdfast::cache
