{{ config(materialized='incremental', engine='MergeTree()', order_by='id', incremental_strategy='append') }}
SELECT id, customer, amount, toDate(day) AS on_day FROM {{ ref('orders') }}
{% if is_incremental() %} WHERE id > (SELECT max(id) FROM {{ this }}) {% endif %}
