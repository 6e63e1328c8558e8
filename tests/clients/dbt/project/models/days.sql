{{ config(materialized='view') }}
SELECT day, sum(amount) AS total FROM {{ ref('orders') }} GROUP BY day
