# In a namespace: <context>:<namespace>:<apiVersion>/<Kind>:<name>
terraform import k8sconnect_object.web 'prod:shop:apps/v1/Deployment:web'

# Without one: <context>:<apiVersion>/<Kind>:<name>
terraform import k8sconnect_object.shop 'prod:v1/Namespace:shop'

# In the provider's own cluster, so that no credentials are stored in the state
terraform import k8sconnect_object.web ':shop:apps/v1/Deployment:web'
