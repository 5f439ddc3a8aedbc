//! Where things are in an object: paths, sets of paths, and what an object holds at them.
//!
//! Everything here is a function of values: no cluster, no files, no clock. A field is named the way the API server
//! names it (list elements by merge key or value), and turned into text only for people.
