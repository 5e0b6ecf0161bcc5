# Installs the SDK into a prefix of its own and builds the third party's project against nothing but
# that prefix, in a folder outside the source tree's build. Run as: cmake -D... -P sdk_install.cmake
#   BUILD_DIR   the build to install from      SOURCE_DIR  the third party's project
#   WORK_DIR    emptied first                  GENERATOR, C_COMPILER, CXX_COMPILER, NM, FLAGS
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "sdk_install: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect what found wanted)
  if(NOT "${found}" STREQUAL "${wanted}")
    message(FATAL_ERROR "sdk_install: ${what}: found '${found}', wanted '${wanted}'")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component sdk --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR} -B ${WORK_DIR}/build
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror ${FLAGS}"
  "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror ${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)

run(${NM} -D --defined-only ${WORK_DIR}/build/upper.so)
string(REGEX REPLACE "[0-9a-f]+ [A-Za-z] ([^\n]+)\n?" "\\1" exports "${output}")
expect("exported symbols" "${exports}" "sluice_module_v1")

run(${WORK_DIR}/build/list_plugins ${WORK_DIR}/build/upper.so)
expect("what is in the file" "${output}" "upper 0.1.0 keys.too\n")

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${WORK_DIR}/prefix/share/pkgconfig)
  run(${PKG_CONFIG} --variable=abi_major sluice-sdk)
  expect("abi_major of sluice-sdk.pc" "${output}" "1\n")
endif()
