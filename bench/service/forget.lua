-- Forgetting for wrk, one row a request, each row once:
--   EFFACE_TOKEN=... wrk -t2 -c64 -d10s --latency -s forget.lua \
--       http://127.0.0.1:PORT/v1/stores/NAME/forget -- FIRST
-- Rows from id FIRST on must be there: a thread that runs out of them gets 404, which wrk counts
-- among "Non-2xx or 3xx responses".
local threads = {}

function setup(thread)
    thread:set("number", #threads)
    threads[#threads + 1] = thread
end

local id, headers
function init(arguments)
    id = tonumber(arguments[1]) + number * 10000000
    headers = {
        ["Authorization"] = "Bearer " .. os.getenv("EFFACE_TOKEN"),
        ["Content-Type"] = "application/json",
    }
end

function request()
    id = id + 1
    return wrk.format("POST", nil, headers, string.format('{"ids":[%d]}', id - 1))
end
