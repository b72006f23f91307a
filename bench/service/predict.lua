-- Predictions for wrk, one row a request:
--   EFFACE_TOKEN=... wrk -t2 -c64 -d10s --latency -s predict.lua \
--       http://127.0.0.1:PORT/v1/stores/NAME/models/default/predict -- POINTS
-- POINTS is a file with a JSON array of numbers a line.
local requests = {}

function init(arguments)
    local headers = {
        ["Authorization"] = "Bearer " .. os.getenv("EFFACE_TOKEN"),
        ["Content-Type"] = "application/json",
    }
    for line in io.lines(arguments[1]) do
        requests[#requests + 1] = wrk.format("POST", nil, headers, '{"rows":[' .. line .. ']}')
    end
end

local number = 0
function request()
    number = number % #requests + 1
    return requests[number]
end
