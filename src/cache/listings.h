// A cache's tables as listings: in order of name, a page at a time, every page of a listing as the
// table was when its first page was read. A table has no order, so it is sorted once per listing
// and kept for a while.
#pragma once

#include <array>
#include <optional>
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
  // How many are kept.
  size_t size() const;

 private:
  struct Listing {
    KindView view;                            // keeps what is sorted alive
    std::vector<const v1::Resource*> sorted;  // by name
    Time used{};
  };
  struct Position {
    int64_t revision = 0;  // of the first page; 0: this is it
    std::string last_name;
  };
  static Result<Position> parse(const std::string& token);
  Listing& listing_for(const KindView& view, resource::Kind kind, const Position& position);
  void fill(v1::ListResponse& response, const Listing& listing, const Asked& asked,
            const std::string& after) const;

  ListingOptions options_;
  std::array<std::optional<Listing>, resource::kKindCount> kept_;
};

}  // namespace holdfast::cache
