#pragma once

// Everything a user of databuffer needs. Start reading at buffer.hpp.
#include "databuffer/batch.hpp"
#include "databuffer/buffer.hpp"
#include "databuffer/clock.hpp"
#include "databuffer/options.hpp"
#include "databuffer/report.hpp"
#include "databuffer/result.hpp"
#include "databuffer/supervisor.hpp"
#include "databuffer/telemetry.hpp"
#include "databuffer/version.hpp"
