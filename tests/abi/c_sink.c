/* A sink in plain C11: what an author without C++ writes. It counts the bytes of values and logs
 * the sum when it flushes. "bad" is a bad record, "fail" fails the slice. */
#include <sluice/abi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct counter {
  sluice_plugin plugin;
  const sluice_host* host;
  int64_t limit;
  uint64_t bytes;
} counter;

static counter* of(sluice_plugin* plugin) { return (counter*)plugin->context; }

static sluice_error error_of(const char* text, int32_t code) {
  sluice_error error;
  memset(&error, 0, sizeof error);
  error.size = sizeof error;
  error.code = code;
  error.message.data = text;
  error.message.size = strlen(text);
  error.retry_after_ms = -1;
  return error;
}

static sluice_status start(sluice_plugin* plugin, const sluice_start* start) {
  counter* self = of(plugin);
  start->config->get_int(start->config, "limit", &self->limit);
  return SLUICE_OK;
}

static int is(sluice_bytes bytes, const char* text) {
  return bytes.data != NULL && bytes.size == strlen(text) &&
         memcmp(bytes.data, text, bytes.size) == 0;
}

static sluice_status put(sluice_plugin* plugin, const sluice_batch* batch) {
  counter* self = of(plugin);
  for (uint32_t index = 0; index < batch->record_count; ++index) {
    const sluice_record* record = sluice_record_at(batch, index);
    *self->host->position = index;
    if (is(record->value, "bad")) {
      const sluice_error why = error_of("bad record", 1);
      self->host->fail_record(self->host, batch->slice_id, record->offset, &why);
    } else if (is(record->value, "fail")) {
      const sluice_error why = error_of("told to fail", 7);
      self->host->set_error(self->host, &why);
      return SLUICE_FAIL;
    } else {
      self->bytes += record->value.size;
    }
  }
  return SLUICE_OK;
}

static sluice_status flush(sluice_plugin* plugin) {
  counter* self = of(plugin);
  char line[64];
  sluice_bytes text;
  const int length = snprintf(line, sizeof line, "%llu bytes of %lld",
                              (unsigned long long)self->bytes, (long long)self->limit);
  text.data = line;
  text.size = (size_t)length;
  self->host->log(self->host, SLUICE_LOG_INFO, text);
  return SLUICE_OK;
}

static void stop(sluice_plugin* plugin) { (void)plugin; }
static void destroy(sluice_plugin* plugin) { free(of(plugin)); }

static sluice_plugin* create(const sluice_host* host) {
  counter* self = (counter*)calloc(1, sizeof *self);
  if (self == NULL) {
    return NULL;
  }
  self->host = host;
  self->plugin.size = sizeof self->plugin;
  self->plugin.context = self;
  self->plugin.start = start;
  self->plugin.put = put;
  self->plugin.flush = flush;
  self->plugin.stop = stop;
  self->plugin.destroy = destroy;
  return &self->plugin;
}

static const sluice_config_key keys[] = {{
    .size = sizeof(sluice_config_key),
    .type = SLUICE_TYPE_INT,
    .name = "limit",
    .doc = "Shown beside the sum.",
    .default_value = "42",
}};

static const sluice_descriptor descriptor = {
    .size = sizeof(sluice_descriptor),
    .kind = SLUICE_KIND_SINK,
    .name = "counter",
    .version = "1.0.0",
    .summary = "Counts bytes.",
    .keys = keys,
    .key_count = 1,
    .create = create,
};

static const sluice_descriptor* const plugins[] = {&descriptor};

static const sluice_module module = {
    .size = sizeof(sluice_module),
    .magic = SLUICE_MAGIC,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .plugin_count = 1,
    .plugins = plugins,
};

const sluice_module* sluice_module_v1(void) { return &module; }
