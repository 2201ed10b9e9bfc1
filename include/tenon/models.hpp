#pragma once

/// Tenon for several models, and for models that others ask: ensembles, searches over grids of hyperparameters, servers of models;
/// and the rest of Tenon. The public headers in the order in which they build on each other; each can be included alone.

#include <tenon/tenon.hpp> // models and what runs them

#include <tenon/nn/ensemble.hpp>    // networks that answer together
#include <tenon/train/ensemble.hpp> // and those of several processes

#include <tenon/search/grid.hpp>            // points of hyperparameters
#include <tenon/search/median_stopping.hpp> // which trainings are worth going on with
#include <tenon/search/grid_devices.hpp>    // where networks are trained one beside another
#include <tenon/search/trial.hpp>           // one of them, and what has become of it
#include <tenon/search/grid_search.hpp>     // a grid over all devices, a network a device at a time

#include <tenon/serve/served_model.hpp> // a model as those see it who ask it
#include <tenon/serve/model_server.hpp> // a function on every device, which answers a stream of requests
