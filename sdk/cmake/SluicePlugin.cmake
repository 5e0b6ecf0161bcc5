# sluice_add_plugin(NAME SOURCES file... [LIBS library...]): a plugin for Sluice, NAME.so.
#
# What it sets, and why:
#   hidden visibility and a version script: the file exports sluice_module_v* only. Hidden
#     visibility alone is not enough: libstdc++'s templates stay visible, and two plugins of one
#     worker would share each other's statics.
#   -z defs: a missing symbol fails here, not when a worker loads the file.
#   $ORIGIN: private libraries are found beside the file.
#   -g1: function and line for the frames of a crash, at little cost in size.
# The file lands in SLUICE_PLUGIN_OUTPUT_DIRECTORY where that is set.
function(sluice_add_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "sluice_add_plugin(${name}): write sluice_add_plugin(NAME SOURCES file... [LIBS library...])")
  endif()
  set(symbols ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sluice_plugin.map)
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE Sluice::sdk ${arg_LIBS})
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-g1>)
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${symbols} -Wl,-z,defs)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    SUFFIX ".so"
    LINK_DEPENDS ${symbols}
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    BUILD_RPATH "$ORIGIN"
    INSTALL_RPATH "$ORIGIN")
  if(SLUICE_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${SLUICE_PLUGIN_OUTPUT_DIRECTORY})
  endif()
endfunction()
