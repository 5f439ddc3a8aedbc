class GadgetClient(object):
    def __init__(self, config, **kwargs):
        base_client_init_kwargs = {
            'regional_client': True,
            'base_path': '/20260101',
            'service_endpoint_template': 'https://gadgets.{region}.{dualStack?ds.:}oci.{secondLevelDomain}',
        }

    def create_gadget(self, create_gadget_details, **kwargs):
        """
        :param oci.gadget.models.CreateGadgetDetails create_gadget_details: (required)
        """
        required_arguments = []
        resource_path = "/gadgets"
        method = "POST"
        api_reference_link = "https://docs.example.com/#/en/gadget/20260101/Gadget/CreateGadget"
        header_params = {"opc-retry-token": kwargs.get("opc_retry_token", missing)}
        return self.base_client.call_api(resource_path=resource_path, method=method, body=create_gadget_details)

    def get_gadget(self, gadget_id, **kwargs):
        resource_path = "/gadgets/{gadgetId}"
        method = "GET"
        return self.base_client.call_api(resource_path=resource_path, method=method, response_type="Gadget")

    def update_gadget(self, gadget_id, update_gadget_details, **kwargs):
        """
        :param oci.gadget.models.UpdateGadgetDetails update_gadget_details: (required)
        """
        resource_path = "/gadgets/{gadgetId}"
        method = "PUT"
        return self.base_client.call_api(body=update_gadget_details, response_type="Gadget")

    def delete_gadget(self, gadget_id, **kwargs):
        resource_path = "/gadgets/{gadgetId}"
        method = "DELETE"

    def list_gadgets(self, compartment_id, **kwargs):
        required_arguments = ['compartmentId']
        resource_path = "/gadgets"
        method = "GET"
        query_params = {
            "compartmentId": compartment_id,
            "page": kwargs.get("page", missing)
        }
        return self.base_client.call_api(response_type="GadgetCollection")

    def create_widget(self, create_widget_details, **kwargs):
        resource_path = "/widgets"
        method = "POST"

    def get_widget(self, widget_id, **kwargs):
        resource_path = "/widgets/{widgetId}"
        method = "GET"
        return self.base_client.call_api(response_type="Widget")

    def get_work_request(self, work_request_id, **kwargs):
        resource_path = "/workRequests/{workRequestId}"
        method = "GET"

    def list_work_requests(self, compartment_id, **kwargs):
        resource_path = "/workRequests"
        method = "GET"
        query_params = {
            "compartmentId": compartment_id
        }
