#pragma once

#include <string>

#include "tools/databuffer/workload_cli.hpp"

// What was measured, in words, for all who show it.
namespace databuffer::tools {

/// As --payload takes it: "8", "string:40".
[[nodiscard]] std::string payload_text(const tuning::Payload& payload);

/// As --sink takes it: "sqlite:PATH".
[[nodiscard]] std::string sink_text(const SinkSpec& sink);

/// "2 producers, items of 8 bytes, one a call, as fast as possible".
[[nodiscard]] std::string inserts_text(const WorkloadSettings& settings);

/// "handler waits 2ms + 1us/item", "sink sqlite:PATH".
[[nodiscard]] std::string handler_text(const WorkloadSettings& settings);

}  // namespace databuffer::tools
