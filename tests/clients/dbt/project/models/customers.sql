{{ config(engine='MergeTree()', order_by='customer') }}
SELECT customer, count() AS orders, sum(amount) AS total FROM {{ ref('orders') }} GROUP BY customer
