/* Loads a plugin file as a host does and prints what is in it: "NAME VERSION KEY...". */
#include <dlfcn.h>
#include <sluice/abi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const file = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (file == NULL) {
    fprintf(stderr, "list_plugins: %s\n", argc == 2 ? dlerror() : "say one file");
    return 1;
  }
  /* ISO C forbids the cast that POSIX requires to work; the union does not. */
  union {
    void* object;
    sluice_module_function function;
  } entry;
  entry.object = dlsym(file, SLUICE_MODULE_SYMBOL);
  if (entry.object == NULL) {
    fprintf(stderr, "list_plugins: %s\n", dlerror());
    return 1;
  }
  const sluice_module* const module = entry.function();
  for (uint32_t index = 0; index < module->plugin_count; ++index) {
    const sluice_descriptor* const plugin = module->plugins[index];
    printf("%s %s", plugin->name, plugin->version);
    for (uint32_t key = 0; key < plugin->key_count; ++key) {
      printf(" %s", plugin->keys[key].name);
    }
    printf("\n");
  }
  return 0;
}
