#include "inject/cluster_manifests.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <string_view>

#include "base/bytes.h"
#include "base/reason.h"
#include "inject/names.h"

namespace holdfast::inject {
namespace {

using std::string_view;

constexpr const char* kService = "holdfast-injector";

constexpr const char* kNamespace = R"(# Holdfast's injector. Apply with: kubectl apply -f -
apiVersion: v1
kind: Namespace
metadata:
  name: "@NAMESPACE@"
  labels:
    app.kubernetes.io/part-of: holdfast
    # The injector must not wait for itself.
    holdfast.dev/inject: disabled
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: holdfast-injector
  namespace: "@NAMESPACE@"
# It asks the cluster nothing.
automountServiceAccountToken: false
)";

constexpr const char* kSecret = R"(---
apiVersion: v1
kind: Secret
metadata:
  name: "@SECRET@"
  namespace: "@NAMESPACE@"
type: kubernetes.io/tls
data:
  tls.crt: @CERTIFICATE@
  tls.key: @KEY@
)";

constexpr const char* kDeployment = R"(---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: holdfast-injector
  namespace: "@NAMESPACE@"
  labels:
    app.kubernetes.io/name: holdfast-injector
    app.kubernetes.io/part-of: holdfast
spec:
  replicas: @REPLICAS@
  selector:
    matchLabels:
      app.kubernetes.io/name: holdfast-injector
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  template:
    metadata:
      labels:
        app.kubernetes.io/name: holdfast-injector
        app.kubernetes.io/part-of: holdfast
        holdfast.dev/inject: disabled
    spec:
      serviceAccountName: holdfast-injector
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: holdfast-injector
      containers:
      - name: injector
        image: "@IMAGE@"
        args:
        - injector
        env:
        - name: HOLDFAST_INJECTOR_LISTEN
          value: "[::]:9443"
        - name: HOLDFAST_INJECTOR_HEALTH_LISTEN
          value: "[::]:9080"
        - name: HOLDFAST_INJECTOR_CERTIFICATE_FILE
          value: /etc/holdfast/injector/tls.crt
        - name: HOLDFAST_INJECTOR_KEY_FILE
          value: /etc/holdfast/injector/tls.key
        - name: HOLDFAST_INJECTOR_IMAGE
          value: "@IMAGE@"
        - name: HOLDFAST_INJECTOR_PORT
          value: "@PORT@"
        - name: HOLDFAST_INJECTOR_SKIP_NAMESPACES
          value: "@NAMESPACE@,kube-system,kube-public,kube-node-lease"
        - name: HOLDFAST_INJECTOR_STOP_DELAY
          value: 5s
        ports:
        - name: https
          containerPort: 9443
          protocol: TCP
        - name: health
          containerPort: 9080
          protocol: TCP
        livenessProbe:
          httpGet:
            path: /healthz
            port: health
          periodSeconds: 10
          failureThreshold: 3
        readinessProbe:
          httpGet:
            path: /readyz
            port: health
          periodSeconds: 2
          failureThreshold: 1
        resources:
          requests:
            cpu: 50m
            memory: 64Mi
          limits:
            memory: 512Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop:
            - ALL
        volumeMounts:
        - name: certificate
          mountPath: /etc/holdfast/injector
          readOnly: true
      volumes:
      - name: certificate
        secret:
          secretName: "@SECRET@"
          defaultMode: 0440
---
apiVersion: v1
kind: Service
metadata:
  name: holdfast-injector
  namespace: "@NAMESPACE@"
  labels:
    app.kubernetes.io/name: holdfast-injector
spec:
  selector:
    app.kubernetes.io/name: holdfast-injector
  ports:
  - name: https
    port: 443
    targetPort: https
    protocol: TCP
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: holdfast-injector
  namespace: "@NAMESPACE@"
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: holdfast-injector
)";

constexpr const char* kWebhook = R"(---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: holdfast-injector
  labels:
    app.kubernetes.io/name: holdfast-injector
    app.kubernetes.io/part-of: holdfast
webhooks:
- name: pods.injector.holdfast.dev
  admissionReviewVersions:
  - v1
  - v1beta1
  sideEffects: None
  # Fail: no pod starts while the injector does not answer. Ignore: pods start untranslated then.
  failurePolicy: @POLICY@
  timeoutSeconds: @TIMEOUT@
  matchPolicy: Equivalent
  # Again, if a webhook after this one changed the pod: what it added is translated too.
  reinvocationPolicy: IfNeeded
  clientConfig:
    service:
      name: holdfast-injector
      namespace: "@NAMESPACE@"
      path: /inject
      port: 443
    caBundle: @CA@
  rules:
  - operations:
    - CREATE
    apiGroups:
    - ""
    apiVersions:
    - v1
    resources:
    - pods
    scope: Namespaced
  namespaceSelector:
    matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
      - "@NAMESPACE@"
      - kube-system
      - kube-public
      - kube-node-lease
    - key: holdfast.dev/inject
      operator: @NAMESPACE_OPERATOR@
      values:
      - @NAMESPACE_VALUE@
  objectSelector:
    matchExpressions:
    - key: holdfast.dev/inject
      operator: NotIn
      values:
      - disabled
)";

Status wrong(string_view option, string_view why) {
  return coded(absl::StatusCode::kInvalidArgument, "HF7156", fmt::format("{}: {}", option, why));
}

Status check_number(string_view option, int value, int least, int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return wrong(option, fmt::format("{} is not from {} to {}", value, least, most));
}

}  // namespace

std::vector<std::string> server_names(const std::string& name_space) {
  return {fmt::format("{}.{}.svc", kService, name_space),
          fmt::format("{}.{}.svc.cluster.local", kService, name_space),
          fmt::format("{}.{}", kService, name_space)};
}

Status check_options(const ClusterOptions& options) {
  if (!is_dns_label(options.name_space) || options.name_space.starts_with("kube-")) {
    return wrong("--namespace", fmt::format("{} is no namespace of its own: letters in lower case, "
                                            "digits and dashes, not kube-*",
                                            in_quotes(options.name_space)));
  }
  if (!is_dns_name(options.secret)) {
    return wrong(
        "--existing-secret",
        fmt::format("{} is no secret's name: letters in lower case, digits, dashes and dots",
                    in_quotes(options.secret)));
  }
  if (!is_image(options.image)) {
    return wrong("--image", fmt::format("{} is no image", in_quotes(options.image)));
  }
  if (options.failure_policy != "Fail" && options.failure_policy != "Ignore") {
    return wrong("--failure-policy",
                 fmt::format("{} is neither Fail nor Ignore", in_quotes(options.failure_policy)));
  }
  TRY_OK(check_number("--timeout-seconds", options.timeout_seconds, 1, 30));
  TRY_OK(check_number("--replicas", options.replicas, 1, 100));
  TRY_OK(check_number("--port", options.port, 1, 65'535));
  if (options.ca.empty()) return wrong("--ca-file", "there is no authority to trust");
  if (options.certificate.empty() != options.key.empty()) {
    return wrong("--certificate-file", "a certificate needs its key, and a key its certificate");
  }
  return absl::OkStatus();
}

std::string manifests(const ClusterOptions& options) {
  std::string text = kNamespace;
  if (!options.certificate.empty()) text += kSecret;
  text.append(kDeployment).append(kWebhook);
  return absl::StrReplaceAll(text,
                             {{"@NAMESPACE@", options.name_space},
                              {"@SECRET@", options.secret},
                              {"@CERTIFICATE@", absl::Base64Escape(options.certificate)},
                              {"@KEY@", absl::Base64Escape(options.key)},
                              {"@REPLICAS@", fmt::format("{}", options.replicas)},
                              {"@IMAGE@", options.image},
                              {"@PORT@", fmt::format("{}", options.port)},
                              {"@POLICY@", options.failure_policy},
                              {"@TIMEOUT@", fmt::format("{}", options.timeout_seconds)},
                              {"@CA@", absl::Base64Escape(options.ca)},
                              {"@NAMESPACE_OPERATOR@", options.opt_in ? "In" : "NotIn"},
                              {"@NAMESPACE_VALUE@", options.opt_in ? "enabled" : "disabled"}});
}

}  // namespace holdfast::inject
