#!/bin/sh
set -eu
{
    echo 'city,parcels,late'
    awk -F, 'NR > 1 { parcels[$2] += $3; late[$2] += $4 }
        END { for (city in parcels) print city "," parcels[city] "," late[city] }' /app/deliveries.csv |
        sort -t, -k3,3nr
} > /app/report.csv
