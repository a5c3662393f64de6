// What an API server makes of a webhook's answer, row by row as it was measured on a real one
// (v1.26): which answers count, which failures its failurePolicy covers and which it does not.
#pragma once

#include <boost/json/value.hpp>

#include <string>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"

namespace holdfast::test {

enum class FailurePolicy { Fail, Ignore };

struct Admission {
  int code = 0;  // 201: created; 400, 422, 500: not
  boost::json::value pod{};
  std::vector<std::string> warnings{};  // sent to the client as "Warning: 299"
  std::string message{};                // of a refusal, or of a failure that was ignored
  bool webhook_failed = false;          // the call; with Ignore the pod is created all the same
};

struct AdmissionCall {
  std::string version = "admission.k8s.io/v1";
  std::string uid{};
  boost::json::value pod{};
  FailurePolicy policy = FailurePolicy::Fail;
};

// `answer`: what came, or why nothing did.
Admission admit(const AdmissionCall& call, const Result<net::HttpAnswer>& answer);

// As the API server fills in what a pod leaves out, before webhooks see it.
void set_defaults(boost::json::value& pod);
// What is wrong with a pod: a type (500 after a patch), or a value (422).
struct PodProblem {
  int code = 0;  // 0: nothing
  std::string message{};
};
PodProblem check_pod(const boost::json::value& pod);

}  // namespace holdfast::test
