// One HTTP probe from its first request to its outcome: which answers count, which redirects are
// followed, what an answer that ends early means. The rules of the kubelet; bytes are elsewhere.
#pragma once

#include <string_view>

#include "base/result.h"
#include "probe/http_hop.h"
#include "probe/probe.h"

namespace holdfast::probe {

constexpr int kMaxRedirects = 10;

class HttpCheck {
 public:
  enum class Next {
    ReadBody,  // the body counts too
    Follow,    // hop() is another one now
    Over       // outcome() is known
  };

  HttpCheck(const Probe& probe, const HttpGet& http, std::string_view address);

  // Where the request goes now.
  const Hop& hop() const { return hop_; }

  Next on_head(int status, std::string_view location);
  // After ReadBody: it ended early. The kubelet takes that for an error of its own.
  void on_body_cut(const Status& why);
  // No answer: no connection, not the protocol, too late. Follow: a hook whose HTTPS is answered in
  // clear is called again, in clear, without what must not be shown there.
  Next on_failure(const Status& why);
  // The probe's own headers may be sent as they are; else without Authorization.
  bool trusted() const { return !in_clear_instead_; }

  const Outcome& outcome() const { return outcome_; }

 private:
  Next follow(std::string_view location);

  bool hook_;
  Hop hop_;
  int requests_ = 1;
  bool in_clear_instead_ = false;
  Outcome outcome_;
};

// 200..399 are healthy.
Outcome judge_status(int status);

// The outcome of an application that did not answer, its reason led by the code for it.
Outcome judge_failure(const Status& why);

// The Status of what is not the protocol that was asked for.
Status not_the_protocol(std::string_view what);

}  // namespace holdfast::probe
