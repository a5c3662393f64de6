// The rows of the table of keys that the injector looks at. Only keys.cc includes it.
#pragma once

#include <array>
#include <string_view>

#include "config/addresses.h"
#include "config/key_rows.h"
#include "config/keys.h"
#include "config/node_keys.h"
#include "resource/text_rules.h"

namespace holdfast::config {

inline constexpr auto kInjectorKeys = std::to_array<Key>({
    {.path = "injector.listen",
     .fallback = "[::]:9443",
     .doc = "Address at which API servers ask the injector about new pods, over TLS; port 0 picks "
            "one.",
     .assign = into<&Config::injector, &InjectorSection::listen>,
     .rule = wrong_listen_address,
     .roles = kForInjector},
    {.path = "injector.health_listen",
     .doc = "Address that serves only health and metrics, without TLS; \"\" turns it off.",
     .assign = into<&Config::injector, &InjectorSection::health_listen>,
     .rule = wrong_listen_address,
     .may_be_empty = true,
     .roles = kForInjector},
    {.path = "injector.certificate_file",
     .doc = "PEM file of the injector's certificate, with those that lead to its authority; read "
            "again when it changes.",
     .assign = into<&Config::injector, &InjectorSection::certificate_file>,
     .may_be_empty = true,
     .roles = kForInjector},
    {.path = "injector.key_file",
     .doc = "PEM file of the certificate's private key; read again when it changes.",
     .assign = into<&Config::injector, &InjectorSection::key_file>,
     .may_be_empty = true,
     .roles = kForInjector},
    {.path = "injector.enabled",
     .type = Type::Choice,
     .fallback = "yes",
     .doc = "Whether pods without an annotation about it are translated.",
     .assign = into<&Config::injector, &InjectorSection::enabled>,
     .words = kNoYes,
     .roles = kForInjector},
    {.path = "injector.port",
     .type = Type::Count,
     .fallback = "9000",
     .doc = "Port of the probe handler in pods without an annotation about it.",
     .assign = into<&Config::injector, &InjectorSection::port>,
     .range = {1, 65'535},
     .roles = kForInjector},
    {.path = "injector.image",
     .fallback = "holdfast/holdfastd:latest",
     .doc = "Image of the sidecar that is added to pods.",
     .assign = into<&Config::injector, &InjectorSection::image>,
     .roles = kForInjector},
    {.path = "injector.sidecar",
     .fallback = "holdfast-sidecar",
     .doc = "Name of the sidecar's container; one of that name that is there already is used.",
     .assign = into<&Config::injector, &InjectorSection::sidecar>,
     .rule = resource::wrong_name,
     .roles = kForInjector},
    {.path = "injector.skip_namespaces",
     .type = Type::List,
     .fallback = "kube-system,kube-public,kube-node-lease",
     .doc = "Namespaces whose pods are left alone, whatever the API server asks.",
     .assign = into<&Config::injector, &InjectorSection::skip_namespaces>,
     .may_be_empty = true,
     .roles = kForInjector},
    {.path = "injector.stop_delay",
     .type = Type::Time,
     .fallback = "0s",
     .doc = "How long an injector that is told to stop still answers, not ready, so that API "
            "servers learn to go elsewhere.",
     .assign = into<&Config::injector, &InjectorSection::stop_delay>,
     .range = {0, 10 * kMinute},
     .roles = kForInjector},
    {.path = "injector.limits.connections",
     .type = Type::Count,
     .fallback = "1024",
     .doc = "Connections that the injector has at once; more are closed.",
     .assign = into<&Config::injector, &InjectorSection::limits, &InjectorLimits::connections>,
     .range = {1, 100'000},
     .roles = kForInjector},
    {.path = "injector.limits.reviews",
     .type = Type::Count,
     .fallback = "64",
     .doc = "Reviews that the injector has under way at once; more are refused.",
     .assign = into<&Config::injector, &InjectorSection::limits, &InjectorLimits::reviews>,
     .range = {1, 10'000},
     .roles = kForInjector},
});

}  // namespace holdfast::config
