// A cache's tables as listings: in order of name, a page at a time, every page of a listing as the
// table was when its first page was read. A table has no order, so it is sorted once per revision
// that is listed, and kept for a while.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cache/snapshot.h"
#include "holdfast/v1/api.pb.h"
#include "resource/kind.h"

namespace holdfast::cache {

struct ListingOptions {
  uint32_t default_page_size = 200;
  uint32_t max_page_size = 1'000;
  size_t max_page_bytes = 2 << 20;           // a page ends early at this
  Duration keep = std::chrono::seconds(10);  // after the last page that was asked for
  // Of a kind, each at a revision of its own. At the limit one that was read to its end goes, else
  // the one that was asked for longest ago; who turns its pages goes on with what there is then.
  size_t max_kept = 4;
};

class Listings {
 public:
  explicit Listings(ListingOptions options) : options_(options) {}

  struct Asked {
    resource::Kind kind;
    const v1::ListRequest& request;
    bool hide_secrets = false;  // the table has some, and the caller may not see them
  };
  // kInvalidArgument if the token is none of ours.
  Result<v1::ListResponse> page(const KindView& view, const Asked& asked, Time now);

  // Forgets what was not asked for lately; call it now and then.
  void on_tick(Time now);
  // Frees at most `budget` items of what was forgotten; true once nothing is left.
  bool reclaim(size_t budget);
  // How many are kept.
  size_t size() const;
  // How many were forgotten for want of room before they were read to their end.
  uint64_t dropped() const { return dropped_; }

 private:
  struct Listing {
    KindView view;                            // keeps what is sorted alive
    std::vector<const v1::Resource*> sorted;  // by name
    Time used{};
    bool has_more = false;  // for who read the last page of it
  };
  struct Position {
    int64_t revision = 0;  // of the first page; 0: this is it
    std::string last_name;
  };
  static Result<Position> parse(const std::string& token);
  // Null if it is not kept.
  Listing* find(const KindView& view, resource::Kind kind, const Position& position);
  void make_room(std::vector<Listing>& kept);
  void retire(Listing listing);
  Listing& listing_for(const KindView& view, resource::Kind kind, const Position& position);
  void fill(v1::ListResponse& response, const Listing& listing, const Asked& asked,
            const std::string& after) const;

  ListingOptions options_;
  std::array<std::vector<Listing>, resource::kKindCount> kept_;
  std::deque<Listing> retired_;  // to be freed
  uint64_t dropped_ = 0;
};

}  // namespace holdfast::cache
