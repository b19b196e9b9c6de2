"""The process that runs one Python function for feedmill.

feedmill starts it with the interpreter of --allow-python. It needs numpy and
cloudpickle, and never imports feedmill. It loads the function once and then
forks the processes that call it, so that they share its memory.

  main.py               the process: options, loading, zygote
  versions.py           the interpreter's version and packages
  loading.py            the function, and the module that it imports as feedmill
  zygote.py             forks the processes and ends them
  descendants.py        the processes that functions start
  map_process.py        makes elements from elements
  generator_process.py  makes the elements of a shard
  generator_state.py    states of iterators
  example_process.py    finds out what the function returns
  result_types.py       the types of what it returns
  input_columns.py      elements from feedmill
  output_columns.py     elements for feedmill
  flat_names.py         results that an element cannot be: python/feedmill/_flat_names.py
  error_text.py         texts of errors

bundle.py imports these modules from memory. core/python/python_process.cc is the
other side, column_layout.h the layout of columns.
"""
