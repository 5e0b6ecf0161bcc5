// All of the C++ layer. An author includes sink.hpp or processor.hpp; this is for files with both.
#pragma once

#include <sluice/processor.hpp>
#include <sluice/sink.hpp>
